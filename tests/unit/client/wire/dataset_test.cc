#include "client/wire/dataset.h"

#include <string>

#include "client/wire/dataset_spec.h"
#include "proto/dataset.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;
using tests::IsOk;

// Returns the spec that protobuf reads in the bytes of the client's.
proto::DatasetSpec Arrived(const message::DatasetSpec& sent) {
  proto::DatasetSpec spec;
  CHECK(spec.ParseFromString(message::Serialize(sent)));
  return spec;
}

TEST_CASE("A dataset's shards and manifest arrive as the client encodes them",
          "[wire][dataset]") {
  const char* const fields[] = {"image", "label"};
  const char* const columns[] = {"path", "class"};
  forebay_loader_options options = {};
  options.format = FOREBAY_MANIFEST;
  options.fields = fields;
  options.field_count = 2;
  options.columns = columns;
  const auto encoded = [&](const DatasetLocation& place) {
    return Arrived(SpecOfLocation(options, place));
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
  proto::DatasetSpec spec = Arrived(both.spec());
  CHECK(spec.uri() == "mine + mine");
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
  const std::uint32_t length = 3;
  Dataset selected;
  REQUIRE_THAT(arrays.Select("key", &length, 1, &selected), IsOk());
  spec = Arrived(selected.spec());
  CHECK(spec.format() == proto::DatasetSpec::SUBSET);
  CHECK(spec.samples() == 1);
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
  dataset.SetLanes(3);
  dataset.SetHostFields(1);
  proto::DatasetSpec spec = Arrived(dataset.spec());
  CHECK(spec.format() == proto::DatasetSpec::PRODUCED);
  CHECK(spec.identity() == "0123456789abcdef");
  CHECK(spec.samples() == 7);
  CHECK(spec.arrays_size() == 1);
  CHECK(spec.lanes() == 3);
  CHECK(spec.host_fields() == 1);
  CHECK_FALSE(spec.live());
  dataset.SetLive();
  spec = Arrived(dataset.spec());
  CHECK(spec.live());
  CHECK(spec.lanes() == 1);
}

}  // namespace
}  // namespace forebay::client::wire
