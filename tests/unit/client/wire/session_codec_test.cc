#include "client/wire/session_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "client/wire/class_list_codec.h"
#include "client/wire/dataset_codec.h"
#include "client/wire/loader_spec_codec.h"
#include "proto/session.pb.h"
#include "proto/shm_layout.h"

namespace forebay::client::wire {
namespace {

using ::testing::ElementsAre;

proto::ClientMessage Parse(const std::string& bytes) {
  proto::ClientMessage message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

Answer Decode(const proto::DaemonMessage& message) {
  Answer answer;
  const Status status = DecodeAnswer(message.SerializeAsString(), &answer);
  EXPECT_TRUE(status.ok()) << status.message;
  return answer;
}

TEST(SessionCodecTest, HelloArrives) {
  const proto::ClientMessage message =
      Parse(EncodeHello(7, "key", "name", 2.5));
  EXPECT_EQ(message.request_id(), 7);
  EXPECT_EQ(message.hello().protocol_version(), proto::kProtocolVersion);
  EXPECT_FALSE(message.hello().client_version().empty());
  EXPECT_EQ(message.hello().job().key(), "key");
  EXPECT_EQ(message.hello().job().name(), "name");
  EXPECT_EQ(message.hello().job().weight(), 2.5);
}

TEST(SessionCodecTest, WarningsOfAReaderArrive) {
  proto::DaemonMessage message;
  message.set_request_id(3);
  proto::ReaderOpened& opened = *message.mutable_reader_opened();
  opened.set_reader_id(1);
  opened.add_fields("image");
  opened.add_warnings("a.h5: leaves out x");
  opened.add_warnings("caf\xe9");
  const Answer answer = Decode(message);
  const auto& arrived = std::get<ReaderOpened>(answer.kind);
  EXPECT_THAT(arrived.fields, ElementsAre("image"));
  EXPECT_THAT(arrived.warnings, ElementsAre("a.h5: leaves out x", "caf\xe9"));
}

TEST(SessionCodecTest, ShardsAndManifestsArrive) {
  const char* const fields[] = {"image", "label"};
  const char* const columns[] = {"path", "class"};
  forebay_loader_options options = {};
  options.format = FOREBAY_MANIFEST;
  options.fields = fields;
  options.field_count = 2;
  options.columns = columns;
  const auto encoded = [&](const DatasetLocation& place) {
    return Parse(EncodeOpenLoader(
                     9, EncodeLoaderSpec(
                            options, EncodeLocation(options, place), "", {})))
        .open_loader()
        .spec()
        .dataset();
  };
  const auto table = encoded({.uri = "/data",
                              .folder = "/data",
                              .shards = {},
                              .manifest = "train.csv"});
  EXPECT_EQ(table.format(), proto::DatasetSpec::MANIFEST);
  EXPECT_EQ(table.uri(), "/data");
  EXPECT_EQ(table.manifest(), "train.csv");
  EXPECT_THAT(table.fields(), ElementsAre("image", "label"));
  EXPECT_THAT(table.columns(), ElementsAre("path", "class"));
  options.format = FOREBAY_WEBDATASET;
  const auto shards = encoded({.uri = "/data",
                               .folder = "/data",
                               .shards = {"{0..9}.tar", "x"},
                               .manifest = {},
                               .inner_folder = "train"});
  EXPECT_EQ(shards.format(), proto::DatasetSpec::WEBDATASET);
  EXPECT_THAT(shards.shards(), ElementsAre("{0..9}.tar", "x"));
  EXPECT_THAT(shards.fields(), ElementsAre("image", "label"));
  EXPECT_EQ(shards.folder(), "train");
  EXPECT_TRUE(shards.columns().empty());
}

TEST(SessionCodecTest, OversizeSpecIsAnnounced) {
  const proto::ClientMessage message = Parse(EncodeOpenLoader(9, ""));
  EXPECT_TRUE(message.open_loader().spec_in_memfd());
  EXPECT_FALSE(message.open_loader().has_spec());
}

TEST(SessionCodecTest, DatasetsOfOthersArrive) {
  const std::uint8_t pixels[2 * 4 * 5] = {};
  const forebay_array array = {.name = "x",
                               .kind = FOREBAY_IMAGE,
                               .dtype = FOREBAY_UINT8,
                               .rank = 3,
                               .shape = {2, 4, 5},
                               .data = pixels};
  Records records;
  ASSERT_TRUE(DescribeRecords(&array, 1, &records).ok());
  const std::string arrays = EncodeArrays("mine", records);
  const std::string subset = EncodeSubset("mine", {arrays, 1});
  proto::DatasetSpec spec;
  ASSERT_TRUE(spec.ParseFromString(
      EncodeConcatenation("both", {{arrays, 1}, {subset, 2}})));
  EXPECT_EQ(spec.uri(), "both");
  EXPECT_EQ(spec.format(), proto::DatasetSpec::CONCATENATION);
  ASSERT_EQ(spec.parts_size(), 2);
  EXPECT_EQ(spec.parts(0).format(), proto::DatasetSpec::ARRAYS);
  EXPECT_EQ(spec.parts(0).descriptors(), 1);
  EXPECT_EQ(spec.parts(0).samples(), 2);
  ASSERT_EQ(spec.parts(0).arrays_size(), 1);
  EXPECT_EQ(spec.parts(0).arrays(0).name(), "x");
  EXPECT_EQ(spec.parts(0).arrays(0).kind(), proto::ArrayField::IMAGE);
  EXPECT_EQ(spec.parts(0).arrays(0).dtype(), proto::UINT8);
  EXPECT_THAT(spec.parts(0).arrays(0).shape(), ElementsAre(4, 5, 1));
  EXPECT_EQ(spec.parts(1).format(), proto::DatasetSpec::SUBSET);
  EXPECT_EQ(spec.parts(1).descriptors(), 2);
  ASSERT_EQ(spec.parts(1).parts_size(), 1);
  EXPECT_EQ(spec.parts(1).parts(0).descriptors(), 1);
  EXPECT_EQ(spec.parts(1).samples(), 0);
  ASSERT_TRUE(spec.ParseFromString(EncodeSubset("mine", {arrays, 1}, 7)));
  EXPECT_EQ(spec.format(), proto::DatasetSpec::SUBSET);
  EXPECT_EQ(spec.samples(), 7);
}

TEST(SessionCodecTest, LoaderRequestsArrive) {
  const proto::ClientMessage start = Parse(EncodeStartEpoch(1, 2, 3, 4, true));
  EXPECT_EQ(start.start_epoch().loader_id(), 2);
  EXPECT_EQ(start.start_epoch().epoch(), 3);
  EXPECT_EQ(start.start_epoch().first_sample(), 4);
  EXPECT_TRUE(start.start_epoch().listed());
  EXPECT_EQ(Parse(EncodeStopEpoch(1, 5)).stop_epoch().loader_id(), 5);
  EXPECT_EQ(Parse(EncodeCloseLoader(1, 6)).close_loader().loader_id(), 6);
  EXPECT_EQ(Parse(EncodeGetStats(1, 7)).get_stats().loader_id(), 7);
}

TEST(SessionCodecTest, ReadsWelcomeAndError) {
  proto::DaemonMessage message;
  message.set_request_id(11);
  message.mutable_welcome()->set_protocol_version(1);
  message.mutable_welcome()->set_daemon_version("0.1");
  message.mutable_welcome()->set_session_id(5);
  Answer answer = Decode(message);
  EXPECT_EQ(answer.request_id, 11);
  EXPECT_EQ(std::get<Welcome>(answer.kind).protocol_version, 1);
  EXPECT_EQ(std::get<Welcome>(answer.kind).daemon_version, "0.1");
  EXPECT_EQ(std::get<Welcome>(answer.kind).session_id, 5);

  message.mutable_error()->set_code(5);
  message.mutable_error()->set_message("no such folder");
  answer = Decode(message);
  EXPECT_EQ(std::get<ErrorAnswer>(answer.kind).code, 5);
  EXPECT_EQ(std::get<ErrorAnswer>(answer.kind).message, "no such folder");
}

TEST(SessionCodecTest, ReadsLoaderOpened) {
  proto::DaemonMessage message;
  proto::LoaderOpened* opened = message.mutable_loader_opened();
  opened->set_loader_id(1);
  opened->set_dataset_size(2);
  opened->set_samples_per_epoch(3);
  opened->set_batches_per_epoch(4);
  opened->set_dataset_version("0123456789abcdef");
  opened->mutable_classes()->add_names("cat");
  opened->mutable_classes()->add_names(std::string("d\0g", 3));
  opened->set_slot_bytes(8192);
  EXPECT_FALSE(std::get<LoaderOpened>(Decode(message).kind).has_placement);
  proto::LoaderPlacement* placement = opened->mutable_placement();
  placement->set_gpu_uuid("a-gpu");
  placement->set_refusal("why");
  placement->set_device_bytes(4096);
  placement->mutable_tail()->set_dtype(proto::FLOAT16);
  placement->mutable_tail()->set_layout(proto::ToImage::NHWC);
  placement->mutable_tail()->set_channels(3);
  placement->mutable_tail()->set_table("table");
  const LoaderOpened read = std::get<LoaderOpened>(Decode(message).kind);
  EXPECT_EQ(read.loader_id, 1);
  EXPECT_EQ(read.dataset_size, 2);
  EXPECT_EQ(read.samples_per_epoch, 3);
  EXPECT_EQ(read.batches_per_epoch, 4);
  EXPECT_EQ(
      std::string(read.dataset_version.begin(), read.dataset_version.end()),
      "0123456789abcdef");
  EXPECT_THAT(read.classes, ElementsAre("cat", std::string("d\0g", 3)));
  EXPECT_FALSE(read.classes_in_memfd);
  EXPECT_EQ(read.slot_bytes, 8192);
  EXPECT_TRUE(read.has_placement);
  EXPECT_EQ(read.placement.gpu_uuid, "a-gpu");
  EXPECT_EQ(read.placement.refusal, "why");
  EXPECT_EQ(read.placement.device_bytes, 4096);
  EXPECT_EQ(read.placement.tail.dtype, proto::FLOAT16);
  EXPECT_EQ(read.placement.tail.layout, proto::ToImage::NHWC);
  EXPECT_EQ(read.placement.tail.channels, 3);
  EXPECT_EQ(read.placement.tail.table, "table");
}

TEST(SessionCodecTest, ReadsBoolsAsProtobufDoes) {
  const std::string number = {'\x22', 3, '\x38', '\x80', 0};  // 0, too long
  proto::DaemonMessage message;
  ASSERT_TRUE(message.ParseFromString(number));
  ASSERT_FALSE(message.loader_opened().classes_in_memfd());
  Answer answer;
  ASSERT_TRUE(DecodeAnswer(number, &answer).ok());
  EXPECT_FALSE(std::get<LoaderOpened>(answer.kind).classes_in_memfd);
  // One that lacks is looked for nowhere.
  const std::vector<char> none = {'\x22', 1, '\x38'};
  EXPECT_FALSE(DecodeAnswer({none.data(), none.size()}, &answer).ok());
}

TEST(SessionCodecTest, ReadsEpochsAndStats) {
  proto::DaemonMessage message;
  message.mutable_epoch_started()->set_slot_count(4);
  message.mutable_epoch_started()->set_slot_bytes(4096);
  message.mutable_epoch_started()->set_lease_quota(2);
  const EpochStarted started = std::get<EpochStarted>(Decode(message).kind);
  EXPECT_EQ(started.slot_count, 4);
  EXPECT_EQ(started.slot_bytes, 4096);
  EXPECT_EQ(started.lease_quota, 2);

  message.mutable_epoch_stopped()->set_published(17);
  EXPECT_EQ(std::get<EpochStopped>(Decode(message).kind).published, 17);
  message.mutable_loader_closed()->set_published(18);
  EXPECT_EQ(std::get<LoaderClosed>(Decode(message).kind).published, 18);

  proto::Stats* stats = message.mutable_stats();
  stats->set_samples_delivered(1);
  stats->set_batches_delivered(2);
  stats->set_bytes_delivered(3);
  stats->set_bytes_read(4);
  stats->set_samples_decoded(5);
  stats->set_samples_substituted(6);
  stats->set_cpu_nanos(7);
  const Stats read = std::get<Stats>(Decode(message).kind);
  EXPECT_EQ(read.samples_delivered, 1);
  EXPECT_EQ(read.batches_delivered, 2);
  EXPECT_EQ(read.bytes_delivered, 3);
  EXPECT_EQ(read.bytes_read, 4);
  EXPECT_EQ(read.samples_decoded, 5);
  EXPECT_EQ(read.samples_substituted, 6);
  EXPECT_EQ(read.cpu_nanos, 7);
}

TEST(SessionCodecTest, ReadsClassList) {
  proto::ClassList list;
  list.add_names("a");
  list.add_names("b");
  std::vector<std::string> classes;
  ASSERT_TRUE(DecodeClassList(list.SerializeAsString(), &classes).ok());
  EXPECT_THAT(classes, ElementsAre("a", "b"));
}

// Any bytes are an answer or an error, never a crash.
TEST(SessionCodecTest, SurvivesGarbage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  proto::DaemonMessage message;
  message.set_request_id(3);
  message.mutable_loader_opened()->mutable_classes()->add_names("cat");
  message.mutable_loader_opened()->set_dataset_version("short");
  const std::string good = message.SerializeAsString();
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    Answer answer;
    if (!DecodeAnswer(bytes, &answer).ok()) ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST(SessionCodecTest, RangesOfObjectsArrive) {
  forebay_object_range range = {};
  range.root = "/data";
  range.name = "a.csv";
  range.offset = 1 << 20;
  range.length = 3;
  range.block_bytes = 65536;
  proto::ClientMessage message =
      Parse(EncodeReadObject(9, EncodeObjectRange(range)));
  EXPECT_EQ(message.request_id(), 9);
  EXPECT_EQ(message.read_object().root(), "/data");
  EXPECT_EQ(message.read_object().name(), "a.csv");
  EXPECT_FALSE(message.read_object().has_version());
  EXPECT_EQ(message.read_object().offset(), 1 << 20);
  EXPECT_EQ(message.read_object().length(), 3);
  EXPECT_EQ(message.read_object().block_bytes(), 65536);
  const forebay_object_version version = {UINT64_MAX, INT64_MIN, 5, -6};
  range.version = &version;
  message = Parse(EncodeReadObject(9, EncodeObjectRange(range)));
  EXPECT_EQ(message.read_object().version().size(), UINT64_MAX);
  EXPECT_EQ(message.read_object().version().stamp(), INT64_MIN);
  EXPECT_EQ(message.read_object().version().inode(), 5);
  EXPECT_EQ(message.read_object().version().ctime_nanos(), -6);
}

TEST(SessionCodecTest, ObjectReadArrives) {
  proto::DaemonMessage message;
  message.set_request_id(4);
  proto::ObjectRead& read = *message.mutable_object_read();
  read.mutable_version()->set_size(7);
  read.mutable_version()->set_stamp(-8);
  read.mutable_version()->set_inode(UINT64_MAX);
  read.mutable_version()->set_ctime_nanos(INT64_MAX);
  read.set_bytes(9);
  read.set_window_bytes(10);
  const Answer answer = Decode(message);
  EXPECT_EQ(answer.request_id, 4);
  const auto* const found = std::get_if<ObjectRead>(&answer.kind);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->version.size, 7);
  EXPECT_EQ(found->version.stamp, -8);
  EXPECT_EQ(found->version.inode, UINT64_MAX);
  EXPECT_EQ(found->version.ctime_nanos, INT64_MAX);
  EXPECT_EQ(found->bytes, 9);
  EXPECT_EQ(found->window_bytes, 10);
}

TEST(SessionCodecTest, APartOfAnOrderArrives) {
  forebay_loader_options options = {};
  options.order = FOREBAY_SHUFFLE;
  options.seed = 5;
  options.world_size = 4;
  proto::ClientMessage message;
  ASSERT_TRUE(message.ParseFromString(EncodeDrawOrder(
      9, EncodeOrderPart(
             {.dataset_size = 100, .epoch = 3, .first = 20, .count = 7},
             EncodeSamplerSpec(options)))));
  EXPECT_EQ(message.request_id(), 9);
  const proto::DrawOrder& part = message.draw_order();
  EXPECT_EQ(part.dataset_size(), 100);
  EXPECT_EQ(part.epoch(), 3);
  EXPECT_EQ(part.first(), 20);
  EXPECT_EQ(part.count(), 7);
  EXPECT_EQ(part.sampler().order(), proto::SamplerSpec::SHUFFLE);
  EXPECT_EQ(part.sampler().seed(), 5);
  EXPECT_EQ(part.sampler().world_size(), 4);

  proto::DaemonMessage answer;
  answer.set_request_id(9);
  for (const std::uint64_t sample : {3, 1, 2})
    answer.mutable_order_drawn()->add_samples(sample);
  Answer decoded;
  ASSERT_TRUE(DecodeAnswer(answer.SerializeAsString(), &decoded).ok());
  EXPECT_EQ(std::get<OrderDrawn>(decoded.kind).samples,
            (std::vector<std::uint64_t>{3, 1, 2}));
}

}  // namespace
}  // namespace forebay::client::wire
