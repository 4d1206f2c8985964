#include "client/wire/dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "client/wire/dataset_spec.h"
#include "proto/dataset.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;
using tests::IsOk;

// Returns the spec that protobuf parses from the client's bytes.
proto::DatasetSpec Arrived(const message::DatasetSpec& sent) {
  proto::DatasetSpec spec;
  CHECK(spec.ParseFromString(message::Serialize(sent)));
  return spec;
}

// Options and a location that a test may change, and the spec made from them.
class OptionsTest {
 protected:
  OptionsTest() {
    options_.fields = fields_.data();
    options_.columns = columns_.data();
  }
  void Set(forebay_format format, std::vector<const char*> fields = {},
           std::vector<const char*> columns = {}) {
    options_.format = format;
    fields_ = std::move(fields);
    columns_ = std::move(columns);
    options_.fields = fields_.data();
    options_.field_count = fields_.size();
    options_.columns = columns_.empty() ? nullptr : columns_.data();
  }
  proto::DatasetSpec Spec() const {
    message::DatasetSpec spec;
    CHECK_THAT(SpecOfLocation(options_, location_, &spec), IsOk());
    proto::DatasetSpec arrived = Arrived(spec);
    CHECK(arrived.uri() == "/data");
    return arrived;
  }
  std::string Refusal() const {
    message::DatasetSpec spec;
    const Status status = SpecOfLocation(options_, location_, &spec);
    CHECK(status.code == FOREBAY_INVALID_ARGUMENT);
    return status.message;
  }

  std::vector<const char*> fields_;
  std::vector<const char*> columns_;
  forebay_loader_options options_ = {};
  DatasetLocation location_ = {
      .uri = "/data", .folder = "/data", .files = {}, .manifest = {}};
};

TEST_CASE_METHOD(OptionsTest, "Folders and a table arrive as their kinds",
                 "[wire][dataset]") {
  Set(FOREBAY_IMAGE_FOLDER);
  CHECK(Spec().has_image_folder());
  Set(FOREBAY_IMAGE_FOLDER, {"audio", "label"});
  CHECK(Spec().has_audio_folder());
  CHECK_FALSE(Spec().audio_folder().flat());
  Set(FOREBAY_IMAGE_FOLDER, {"audio"});
  CHECK(Spec().audio_folder().flat());
  Set(FOREBAY_NPY);
  CHECK(Spec().has_npy_folder());
  CHECK(Spec().npy_folder().layout() == proto::NpyFolder::ANY);
  Set(FOREBAY_NPY, {"array"});
  CHECK(Spec().npy_folder().layout() == proto::NpyFolder::FLAT);
  Set(FOREBAY_NPY, {"array", "label"});
  CHECK(Spec().npy_folder().layout() == proto::NpyFolder::CLASSES);
  Set(FOREBAY_MANIFEST, {"image", "label"}, {"path", "class"});
  location_.manifest = "train.csv";
  const proto::Manifest table = Spec().manifest();
  CHECK(table.path() == "train.csv");
  REQUIRE(table.columns_size() == 2);
  CHECK(table.columns(1).field() == "label");
  CHECK(table.columns(1).column() == "class");
}

TEST_CASE_METHOD(OptionsTest, "Files arrive as their kinds",
                 "[wire][dataset]") {
  location_.files = {"{0..9}", "x"};
  Set(FOREBAY_WEBDATASET, {"image", "label"});
  CHECK_THAT(Spec().webdataset().files(), ElementsAre("{0..9}", "x"));
  CHECK_THAT(Spec().webdataset().fields(), ElementsAre("image", "label"));
  Set(FOREBAY_NPY);
  CHECK_THAT(Spec().npy_files().files(), ElementsAre("{0..9}", "x"));
  Set(FOREBAY_NPZ, {"a", "b"}, {"files", "files"});
  CHECK_THAT(Spec().npz().files(), ElementsAre("{0..9}", "x"));
  CHECK_THAT(Spec().npz().arrays(), ElementsAre("a", "b"));
  CHECK(Spec().npz().samples() == proto::Npz::FILES);
  Set(FOREBAY_NPZ, {""}, {"rows"});
  CHECK(Spec().npz().arrays().empty());
  CHECK(Spec().npz().samples() == proto::Npz::ROWS);
  Set(FOREBAY_ZIP);
  location_.inner_folder = "train";
  CHECK_THAT(Spec().zip().files(), ElementsAre("{0..9}", "x"));
  CHECK(Spec().zip().folder() == "train");
  CHECK(Spec().zip().content() == proto::Zip::IMAGES);
  Set(FOREBAY_ZIP, {"audio", "label"});
  CHECK(Spec().zip().content() == proto::Zip::AUDIO);
  Set(FOREBAY_TOKENS, {"length", "dtype", "tail"}, {"8", "uint16", "keep"});
  const proto::Tokens tokens = Spec().tokens();
  CHECK_THAT(tokens.files(), ElementsAre("{0..9}", "x"));
  CHECK(tokens.length() == 8);
  CHECK(tokens.stride() == 0);
  CHECK(tokens.dtype() == proto::UINT16);
  CHECK(tokens.keeps_tail());
  CHECK_FALSE(tokens.each_document());
  CHECK_FALSE(tokens.has_targets());
}

TEST_CASE_METHOD(OptionsTest, "Files of records arrive as their kinds",
                 "[wire][dataset]") {
  location_.files = {"x"};
  const auto check = [](const auto& kind) {
    CHECK_THAT(kind.files(), ElementsAre("x"));
    REQUIRE(kind.fields_size() == 2);
    CHECK(kind.fields(0).name() == "a");
    CHECK(kind.fields(0).type() == "jpg");
    CHECK(kind.fields(1).name() == "b");
  };
  const std::vector<const char*> names = {"a", "b"};
  const std::vector<const char*> types = {"jpg", "int64"};
  Set(FOREBAY_TFRECORD, names, types);
  check(Spec().tfrecord());
  Set(FOREBAY_ARRAY_RECORD, names, types);
  check(Spec().array_record());
  Set(FOREBAY_MDS, names, types);
  check(Spec().mds());
  Set(FOREBAY_HDF5, names, types);
  check(Spec().hdf5());
  Set(FOREBAY_LMDB, names, types);
  check(Spec().lmdb());
  CHECK(Spec().lmdb().database().empty());
  options_.database = "d";
  CHECK(Spec().lmdb().database() == "d");
  Set(FOREBAY_MDS, {"a"});
  CHECK(Spec().mds().fields(0).type().empty());
}

TEST_CASE_METHOD(OptionsTest,
                 "Fields that a format does not have are refused by the client",
                 "[wire][dataset]") {
  Set(FOREBAY_IMAGE_FOLDER, {"image"});
  CHECK(Refusal() ==
        "/data: samples of folders of audio files have the fields \"audio\" "
        "and \"label\", or \"audio\" alone");
  Set(FOREBAY_NPY, {"label"});
  CHECK(Refusal() ==
        "/data: samples of folders of .npy files have the fields \"array\" and "
        "\"label\", or \"array\" alone");
  Set(FOREBAY_ZIP, {"audio"});
  CHECK(Refusal() ==
        "/data: samples of zip archives have the fields \"image\" or "
        "\"audio\", and \"label\"");
  Set(FOREBAY_NPZ, {"x"}, {"all"});
  CHECK(Refusal() ==
        "/data: arrays of .npz files are read as \"rows\", as \"files\", or as "
        "files in \"classes\"");
  Set(FOREBAY_TOKENS);
  CHECK(Refusal() == "/data: samples of tokens need a length, or \"document\"");
  Set(static_cast<forebay_format>(8));
  CHECK(Refusal() == "/data: dataset format 8 is not known");
}

TEST_CASE("Datasets made of others arrive as the client encodes them",
          "[wire][dataset]") {
  const std::uint8_t pixels[2 * 4 * 5] = {};
  const forebay_array array = {.name = "x",
                               .kind = FOREBAY_IMAGE,
                               .dtype = FOREBAY_UINT8,
                               .rank = 3,
                               .shape = {2, 4, 5},
                               .data = pixels};
  Dataset arrays;
  REQUIRE_THAT(Dataset::FromArrays("mine", &array, 1, &arrays), IsOk());
  const std::int64_t first = 0;
  Dataset subset;
  REQUIRE_THAT(arrays.Subset(&first, 1, &subset), IsOk());
  Dataset both;
  REQUIRE_THAT(Dataset::Concatenate({&arrays, &subset}, &both), IsOk());
  CHECK(both.fds().size() == 3);
  const proto::DatasetSpec spec = Arrived(both.spec());
  CHECK(spec.uri() == "mine + mine");
  REQUIRE(spec.concatenation().parts_size() == 2);
  const proto::DatasetSpec& whole = spec.concatenation().parts(0);
  CHECK(whole.descriptors() == 1);
  CHECK(whole.arrays().samples() == 2);
  REQUIRE(whole.arrays().fields_size() == 1);
  const proto::ArrayField& field = whole.arrays().fields(0);
  CHECK(field.name() == "x");
  CHECK(field.kind() == proto::ArrayField::IMAGE);
  CHECK(field.dtype() == proto::UINT8);
  CHECK_THAT(field.shape(), ElementsAre(4, 5, 1));
  const proto::DatasetSpec& part = spec.concatenation().parts(1);
  CHECK(part.descriptors() == 2);
  CHECK(part.subset().part().has_arrays());
  CHECK(part.subset().part().descriptors() == 1);
  CHECK(part.subset().keys() == 0);
  const std::uint32_t length = 3;
  Dataset selected;
  REQUIRE_THAT(arrays.Select("key", &length, 1, &selected), IsOk());
  CHECK(Arrived(selected.spec()).subset().keys() == 1);
}

TEST_CASE("A dataset from workers arrives as the client encodes it",
          "[wire][dataset]") {
  const forebay_array field = {.name = "x",
                               .kind = FOREBAY_ARRAY,
                               .dtype = FOREBAY_FLOAT32,
                               .rank = 1,
                               .shape = {7},
                               .data = nullptr};
  Dataset dataset;
  REQUIRE_THAT(
      Dataset::FromWorkers("made", "0123456789abcdef", 7, &field, 1, &dataset),
      IsOk());
  dataset.SetAffinityWorkers(3);
  dataset.SetHostFields(1);
  proto::Produced spec = Arrived(dataset.spec()).produced();
  CHECK(spec.identity() == "0123456789abcdef");
  CHECK(spec.samples() == 7);
  CHECK(spec.fields_size() == 1);
  CHECK(spec.affinity_workers() == 3);
  CHECK(spec.host_fields() == 1);
  CHECK_FALSE(spec.live());
  dataset.SetLive();
  spec = Arrived(dataset.spec()).produced();
  CHECK(spec.live());
  CHECK(spec.affinity_workers() == 1);
  Dataset other;
  REQUIRE_THAT(Dataset::Concatenate({&dataset}, &other), IsOk());
  other.SetLive();
  CHECK(Arrived(other.spec()).has_concatenation());
}

}  // namespace
}  // namespace forebay::client::wire
