#include "client/wire/session_codec.h"

#include <random>
#include <vector>

#include "client/wire/class_list_codec.h"
#include "client/wire/dataset_codec.h"
#include "client/wire/loader_spec_codec.h"
#include "proto/session.pb.h"
#include "proto/shm_layout.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;
using tests::IsOk;

proto::ClientMessage Parse(const std::string& bytes) {
  proto::ClientMessage message;
  CHECK(message.ParseFromString(bytes));
  return message;
}

Answer Decode(const proto::DaemonMessage& message) {
  Answer answer;
  const Status status = DecodeAnswer(message.SerializeAsString(), &answer);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
  return answer;
}

TEST_CASE("A session's hello arrives as the client encodes it",
          "[wire][session_codec]") {
  const proto::ClientMessage message =
      Parse(EncodeHello(7, "key", "name", 2.5));
  CHECK(message.request_id() == 7);
  CHECK(message.hello().protocol_version() == proto::kProtocolVersion);
  CHECK_FALSE(message.hello().client_version().empty());
  CHECK(message.hello().job().key() == "key");
  CHECK(message.hello().job().name() == "name");
  CHECK(message.hello().job().weight() == 2.5);
}

TEST_CASE("Warnings of a reader arrive at the client",
          "[wire][session_codec]") {
  proto::DaemonMessage message;
  message.set_request_id(3);
  proto::ReaderOpened& opened = *message.mutable_reader_opened();
  opened.set_reader_id(1);
  opened.add_fields("image");
  opened.add_warnings("a.h5: leaves out x");
  opened.add_warnings("caf\xe9");
  const Answer answer = Decode(message);
  const auto& arrived = std::get<ReaderOpened>(answer.kind);
  CHECK_THAT(arrived.fields, ElementsAre("image"));
  CHECK_THAT(arrived.warnings, ElementsAre("a.h5: leaves out x", "caf\xe9"));
}

TEST_CASE("A dataset's shards and manifest arrive as the client encodes them",
          "[wire][session_codec]") {
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
  CHECK(table.format() == proto::DatasetSpec::MANIFEST);
  CHECK(table.uri() == "/data");
  CHECK(table.manifest() == "train.csv");
  CHECK_THAT(table.fields(), ElementsAre("image", "label"));
  CHECK_THAT(table.columns(), ElementsAre("path", "class"));
  options.format = FOREBAY_WEBDATASET;
  const auto shards = encoded({.uri = "/data",
                               .folder = "/data",
                               .shards = {"{0..9}.tar", "x"},
                               .manifest = {},
                               .inner_folder = "train"});
  CHECK(shards.format() == proto::DatasetSpec::WEBDATASET);
  CHECK_THAT(shards.shards(), ElementsAre("{0..9}.tar", "x"));
  CHECK_THAT(shards.fields(), ElementsAre("image", "label"));
  CHECK(shards.folder() == "train");
  CHECK(shards.columns().empty());
}

TEST_CASE("A client announces that an oversize loader spec is in a memfd",
          "[wire][session_codec]") {
  const proto::ClientMessage message = Parse(EncodeOpenLoader(9, ""));
  CHECK(message.open_loader().spec_in_memfd());
  CHECK_FALSE(message.open_loader().has_spec());
}

TEST_CASE("Datasets made of others arrive as the client encodes them",
          "[wire][session_codec]") {
  const std::uint8_t pixels[2 * 4 * 5] = {};
  const forebay_array array = {.name = "x",
                               .kind = FOREBAY_IMAGE,
                               .dtype = FOREBAY_UINT8,
                               .rank = 3,
                               .shape = {2, 4, 5},
                               .data = pixels};
  Records records;
  REQUIRE_THAT(DescribeRecords(&array, 1, &records), IsOk());
  const std::string arrays = EncodeArrays("mine", records);
  const std::string subset = EncodeSubset("mine", {arrays, 1});
  proto::DatasetSpec spec;
  REQUIRE(spec.ParseFromString(
      EncodeConcatenation("both", {{arrays, 1}, {subset, 2}})));
  CHECK(spec.uri() == "both");
  CHECK(spec.format() == proto::DatasetSpec::CONCATENATION);
  REQUIRE(spec.parts_size() == 2);
  CHECK(spec.parts(0).format() == proto::DatasetSpec::ARRAYS);
  CHECK(spec.parts(0).descriptors() == 1);
  CHECK(spec.parts(0).samples() == 2);
  REQUIRE(spec.parts(0).arrays_size() == 1);
  CHECK(spec.parts(0).arrays(0).name() == "x");
  CHECK(spec.parts(0).arrays(0).kind() == proto::ArrayField::IMAGE);
  CHECK(spec.parts(0).arrays(0).dtype() == proto::UINT8);
  CHECK_THAT(spec.parts(0).arrays(0).shape(), ElementsAre(4, 5, 1));
  CHECK(spec.parts(1).format() == proto::DatasetSpec::SUBSET);
  CHECK(spec.parts(1).descriptors() == 2);
  REQUIRE(spec.parts(1).parts_size() == 1);
  CHECK(spec.parts(1).parts(0).descriptors() == 1);
  CHECK(spec.parts(1).samples() == 0);
  REQUIRE(spec.ParseFromString(EncodeSubset("mine", {arrays, 1}, 7)));
  CHECK(spec.format() == proto::DatasetSpec::SUBSET);
  CHECK(spec.samples() == 7);
}

TEST_CASE("A loader's requests arrive as the client encodes them",
          "[wire][session_codec]") {
  const proto::ClientMessage start = Parse(EncodeStartEpoch(1, 2, 3, 4, true));
  CHECK(start.start_epoch().loader_id() == 2);
  CHECK(start.start_epoch().epoch() == 3);
  CHECK(start.start_epoch().first_sample() == 4);
  CHECK(start.start_epoch().listed());
  CHECK(Parse(EncodeStopEpoch(1, 5)).stop_epoch().loader_id() == 5);
  CHECK(Parse(EncodeCloseLoader(1, 6)).close_loader().loader_id() == 6);
  CHECK(Parse(EncodeGetStats(1, 7)).get_stats().loader_id() == 7);
}

TEST_CASE("A client reads the daemon's welcome and error",
          "[wire][session_codec]") {
  proto::DaemonMessage message;
  message.set_request_id(11);
  message.mutable_welcome()->set_protocol_version(1);
  message.mutable_welcome()->set_daemon_version("0.1");
  message.mutable_welcome()->set_session_id(5);
  Answer answer = Decode(message);
  CHECK(answer.request_id == 11);
  CHECK(std::get<Welcome>(answer.kind).protocol_version == 1);
  CHECK(std::get<Welcome>(answer.kind).daemon_version == "0.1");
  CHECK(std::get<Welcome>(answer.kind).session_id == 5);

  message.mutable_error()->set_code(5);
  message.mutable_error()->set_message("no such folder");
  answer = Decode(message);
  CHECK(std::get<ErrorAnswer>(answer.kind).code == 5);
  CHECK(std::get<ErrorAnswer>(answer.kind).message == "no such folder");
}

TEST_CASE("A client reads the daemon's answer that a loader was opened",
          "[wire][session_codec]") {
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
  CHECK_FALSE(std::get<LoaderOpened>(Decode(message).kind).has_placement);
  proto::LoaderPlacement* placement = opened->mutable_placement();
  placement->set_gpu_uuid("a-gpu");
  placement->set_refusal("why");
  placement->set_device_bytes(4096);
  placement->mutable_tail()->set_dtype(proto::FLOAT16);
  placement->mutable_tail()->set_layout(proto::ToImage::NHWC);
  placement->mutable_tail()->set_channels(3);
  placement->mutable_tail()->set_table("table");
  const LoaderOpened read = std::get<LoaderOpened>(Decode(message).kind);
  CHECK(read.loader_id == 1);
  CHECK(read.dataset_size == 2);
  CHECK(read.samples_per_epoch == 3);
  CHECK(read.batches_per_epoch == 4);
  CHECK(std::string(read.dataset_version.begin(), read.dataset_version.end()) ==
        "0123456789abcdef");
  CHECK_THAT(read.classes, ElementsAre("cat", std::string("d\0g", 3)));
  CHECK_FALSE(read.classes_in_memfd);
  CHECK(read.slot_bytes == 8192);
  CHECK(read.has_placement);
  CHECK(read.placement.gpu_uuid == "a-gpu");
  CHECK(read.placement.refusal == "why");
  CHECK(read.placement.device_bytes == 4096);
  CHECK(read.placement.tail.dtype == proto::FLOAT16);
  CHECK(read.placement.tail.layout == proto::ToImage::NHWC);
  CHECK(read.placement.tail.channels == 3);
  CHECK(read.placement.tail.table == "table");
}

TEST_CASE("A client reads bools in the daemon's answers as protobuf does",
          "[wire][session_codec]") {
  // The value is 0, in more bytes than needed.
  const std::string number = {'\x22', 3, '\x38', '\x80', 0};
  proto::DaemonMessage message;
  REQUIRE(message.ParseFromString(number));
  REQUIRE_FALSE(message.loader_opened().classes_in_memfd());
  Answer answer;
  REQUIRE_THAT(DecodeAnswer(number, &answer), IsOk());
  CHECK_FALSE(std::get<LoaderOpened>(answer.kind).classes_in_memfd);
  // A bool whose bytes are missing is an error, and nothing is read behind the
  // end.
  const std::vector<char> none = {'\x22', 1, '\x38'};
  CHECK_FALSE(DecodeAnswer({none.data(), none.size()}, &answer).ok());
}

TEST_CASE("A client reads the daemon's answers on epochs and stats",
          "[wire][session_codec]") {
  proto::DaemonMessage message;
  message.mutable_epoch_started()->set_slot_count(4);
  message.mutable_epoch_started()->set_slot_bytes(4096);
  message.mutable_epoch_started()->set_lease_quota(2);
  const EpochStarted started = std::get<EpochStarted>(Decode(message).kind);
  CHECK(started.slot_count == 4);
  CHECK(started.slot_bytes == 4096);
  CHECK(started.lease_quota == 2);

  message.mutable_epoch_stopped()->set_published(17);
  CHECK(std::get<EpochStopped>(Decode(message).kind).published == 17);
  message.mutable_loader_closed()->set_published(18);
  CHECK(std::get<LoaderClosed>(Decode(message).kind).published == 18);

  proto::Stats* stats = message.mutable_stats();
  stats->set_samples_delivered(1);
  stats->set_batches_delivered(2);
  stats->set_bytes_delivered(3);
  stats->set_bytes_read(4);
  stats->set_samples_decoded(5);
  stats->set_samples_substituted(6);
  stats->set_cpu_nanos(7);
  const Stats read = std::get<Stats>(Decode(message).kind);
  CHECK(read.samples_delivered == 1);
  CHECK(read.batches_delivered == 2);
  CHECK(read.bytes_delivered == 3);
  CHECK(read.bytes_read == 4);
  CHECK(read.samples_decoded == 5);
  CHECK(read.samples_substituted == 6);
  CHECK(read.cpu_nanos == 7);
}

TEST_CASE("A client reads the daemon's class list", "[wire][session_codec]") {
  proto::ClassList list;
  list.add_names("a");
  list.add_names("b");
  std::vector<std::string> classes;
  REQUIRE_THAT(DecodeClassList(list.SerializeAsString(), &classes), IsOk());
  CHECK_THAT(classes, ElementsAre("a", "b"));
}

// Any bytes are a valid answer or an error, and never crash the client.
TEST_CASE("A client survives garbage in the daemon's answers",
          "[wire][session_codec]") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
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
  CHECK(refused > 0);
}

TEST_CASE("A request for a range of an object arrives as the client encodes it",
          "[wire][session_codec]") {
  forebay_object_range range = {};
  range.root = "/data";
  range.name = "a.csv";
  range.offset = 1 << 20;
  range.length = 3;
  range.block_bytes = 65536;
  proto::ClientMessage message =
      Parse(EncodeReadObject(9, EncodeObjectRange(range)));
  CHECK(message.request_id() == 9);
  CHECK(message.read_object().root() == "/data");
  CHECK(message.read_object().name() == "a.csv");
  CHECK_FALSE(message.read_object().has_version());
  CHECK(message.read_object().offset() == 1 << 20);
  CHECK(message.read_object().length() == 3);
  CHECK(message.read_object().block_bytes() == 65536);
  const forebay_object_version version = {UINT64_MAX, INT64_MIN, 5, -6};
  range.version = &version;
  message = Parse(EncodeReadObject(9, EncodeObjectRange(range)));
  CHECK(message.read_object().version().size() == UINT64_MAX);
  CHECK(message.read_object().version().stamp() == INT64_MIN);
  CHECK(message.read_object().version().inode() == 5);
  CHECK(message.read_object().version().ctime_nanos() == -6);
}

TEST_CASE("The daemon's answer to a read of an object arrives at the client",
          "[wire][session_codec]") {
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
  CHECK(answer.request_id == 4);
  const auto* const found = std::get_if<ObjectRead>(&answer.kind);
  REQUIRE(found != nullptr);
  CHECK(found->version.size == 7);
  CHECK(found->version.stamp == -8);
  CHECK(found->version.inode == UINT64_MAX);
  CHECK(found->version.ctime_nanos == INT64_MAX);
  CHECK(found->bytes == 9);
  CHECK(found->window_bytes == 10);
}

TEST_CASE("The request for a part of an order and its answer arrive as encoded",
          "[wire][session_codec]") {
  forebay_loader_options options = {};
  options.order = FOREBAY_SHUFFLE;
  options.seed = 5;
  options.world_size = 4;
  proto::ClientMessage message;
  REQUIRE(message.ParseFromString(EncodeDrawOrder(
      9, EncodeOrderPart(
             {.dataset_size = 100, .epoch = 3, .first = 20, .count = 7},
             EncodeSamplerSpec(options)))));
  CHECK(message.request_id() == 9);
  const proto::DrawOrder& part = message.draw_order();
  CHECK(part.dataset_size() == 100);
  CHECK(part.epoch() == 3);
  CHECK(part.first() == 20);
  CHECK(part.count() == 7);
  CHECK(part.sampler().order() == proto::SamplerSpec::SHUFFLE);
  CHECK(part.sampler().seed() == 5);
  CHECK(part.sampler().world_size() == 4);

  proto::DaemonMessage answer;
  answer.set_request_id(9);
  for (const std::uint64_t sample : {3, 1, 2})
    answer.mutable_order_drawn()->add_samples(sample);
  Answer decoded;
  REQUIRE_THAT(DecodeAnswer(answer.SerializeAsString(), &decoded), IsOk());
  CHECK(std::get<OrderDrawn>(decoded.kind).samples ==
        std::vector<std::uint64_t>{3, 1, 2});
}

}  // namespace
}  // namespace forebay::client::wire
