#include "server/dataset/canonical_spec.h"

#include <google/protobuf/text_format.h>

#include <random>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset {
namespace {

using tests::HasCode;
using tests::IsOk;

proto::DatasetSpec Spec(const std::string& text) {
  proto::DatasetSpec spec;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

std::string Refusal(const std::string& text) {
  const absl::Status status = CanonicalSpec(Spec(text)).status();
  CAPTURE(text);
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(status.message());
}

struct Pair {
  std::string old;  // the settings of protocol 3
  std::string kind;
};

const std::vector<Pair>& Pairs() {
  static const auto& pairs = *new std::vector<Pair>{
      {"v3_format: IMAGE_FOLDER", "image_folder {}"},
      {"v3_format: IMAGE_FOLDER v3_shards: 'ignored' v3_parts {}",
       "image_folder {}"},
      {"v3_format: IMAGE_FOLDER v3_fields: ['audio', 'label']",
       "audio_folder {}"},
      {"v3_format: IMAGE_FOLDER v3_fields: 'audio'",
       "audio_folder { flat: true }"},
      {"v3_format: WEBDATASET v3_shards: ['a', 'b'] v3_fields: ['jpg', 'cls']",
       "webdataset { files: ['a', 'b'] fields: ['jpg', 'cls'] }"},
      {"v3_format: MANIFEST v3_manifest: 'a.csv' v3_fields: ['image', 'label'] "
       "v3_columns: ['path', 'class']",
       "manifest { path: 'a.csv' columns { field: 'image' column: 'path' } "
       "columns { field: 'label' column: 'class' } }"},
      {"v3_format: MANIFEST", "manifest {}"},
      {"v3_format: NPY", "npy_folder {}"},
      {"v3_format: NPY v3_fields: 'array'", "npy_folder { layout: FLAT }"},
      {"v3_format: NPY v3_fields: ['array', 'label']",
       "npy_folder { layout: CLASSES }"},
      {"v3_format: NPY v3_shards: '*.npy'", "npy_files { files: '*.npy' }"},
      {"v3_format: NPZ v3_shards: 'a' v3_fields: '' v3_columns: 'rows'",
       "npz { files: 'a' samples: ROWS }"},
      {"v3_format: NPZ v3_shards: 'a' v3_fields: ['x', 'y'] "
       "v3_columns: ['files', 'files']",
       "npz { files: 'a' arrays: ['x', 'y'] samples: FILES }"},
      {"v3_format: NPZ v3_fields: 'x' v3_columns: 'classes'",
       "npz { arrays: 'x' samples: CLASSES }"},
      {"v3_format: TFRECORD v3_shards: 'a'", "tfrecord { files: 'a' }"},
      {"v3_format: TFRECORD v3_shards: 'a' v3_fields: ['x', 'y'] "
       "v3_columns: ['jpg', 'int64']",
       "tfrecord { files: 'a' fields { name: 'x' type: 'jpg' } "
       "fields { name: 'y' type: 'int64' } }"},
      {"v3_format: ARRAY_RECORD v3_shards: 'a' v3_fields: '' "
       "v3_columns: 'npy'",
       "array_record { files: 'a' fields { name: '' type: 'npy' } }"},
      {"v3_format: LMDB v3_shards: 'a' v3_fields: 'value' v3_columns: 'datum' "
       "v3_database: 'd'",
       "lmdb { files: 'a' fields { name: 'value' type: 'datum' } "
       "database: 'd' }"},
      {"v3_format: MDS v3_shards: 'a' v3_fields: ['x', 'y']",
       "mds { files: 'a' fields { name: 'x' } fields { name: 'y' } }"},
      {"v3_format: HDF5 v3_shards: 'a' v3_fields: ['x', 'y'] "
       "v3_columns: ['', 'jpg']",
       "hdf5 { files: 'a' fields { name: 'x' } "
       "fields { name: 'y' type: 'jpg' } }"},
      {"v3_format: ZIP v3_shards: 'a.zip' v3_folder: 'train'",
       "zip { files: 'a.zip' folder: 'train' }"},
      {"v3_format: ZIP v3_shards: 'a.zip' v3_fields: ['audio', 'label']",
       "zip { files: 'a.zip' content: AUDIO }"},
      {"v3_format: TOKENS v3_shards: 'a' v3_fields: ['length', 'stride', "
       "'dtype', 'documents', 'tail', 'targets'] "
       "v3_columns: ['8', '4', 'uint16', 'each', 'keep', '1']",
       "tokens { files: 'a' length: 8 stride: 4 dtype: UINT16 "
       "each_document: true keeps_tail: true has_targets: true }"},
      {"v3_format: TOKENS v3_shards: 'a' v3_fields: 'length' "
       "v3_columns: 'document'",
       "tokens { files: 'a' }"},
      {"v3_format: ARRAYS v3_samples: 3 v3_arrays { name: 'x' kind: LABEL }",
       "arrays { samples: 3 fields { name: 'x' kind: LABEL } }"},
      {"v3_format: PRODUCED v3_samples: 3 v3_identity: 'i' v3_lanes: 1 "
       "v3_live: true v3_host_fields: 1 "
       "v3_arrays { name: 'x' kind: ARRAY dtype: UINT8 shape: 2 }",
       "produced { samples: 3 identity: 'i' affinity_workers: 1 live: true "
       "host_fields: 1 "
       "fields { name: 'x' kind: ARRAY dtype: UINT8 shape: 2 } }"},
      {"v3_format: SUBSET v3_parts { uri: 'b' descriptors: 1 "
       "v3_format: IMAGE_FOLDER }",
       "subset { part { uri: 'b' descriptors: 1 image_folder {} } }"},
      {"v3_format: SUBSET v3_samples: 2 v3_parts { v3_format: LMDB }",
       "subset { keys: 2 part { lmdb {} } }"},
      {"v3_format: CONCATENATION", "concatenation {}"},
      {"v3_format: CONCATENATION v3_parts { v3_format: NPY } "
       "v3_parts { v3_format: SUBSET v3_parts { v3_format: MDS } }",
       "concatenation { parts { npy_folder {} } "
       "parts { subset { part { mds {} } } } }"},
  };
  return pairs;
}

TEST_CASE("Each format of protocol 3 becomes its kind byte for byte",
          "[dataset][canonical_spec]") {
  const std::string common =
      "uri: '/data' extra_roots: 1 extra_root_paths: '/more' descriptors: 2 ";
  for (const Pair& pair : Pairs()) {
    CAPTURE(pair.old);
    const proto::DatasetSpec expected = Spec(common + pair.kind);
    const auto canonical = CanonicalSpec(Spec(common + pair.old));
    REQUIRE_THAT(canonical, IsOk());
    CHECK(canonical->DebugString() == expected.DebugString());
    CHECK(canonical->SerializeAsString() == expected.SerializeAsString());
    CHECK(CanonicalSpec(expected)->SerializeAsString() ==
          expected.SerializeAsString());
  }
}

TEST_CASE("Parts of both protocols may lie in one dataset",
          "[dataset][canonical_spec]") {
  const auto canonical = CanonicalSpec(
      Spec("concatenation { parts { v3_format: NPY } parts { mds {} } }"));
  REQUIRE_THAT(canonical, IsOk());
  CHECK(canonical->SerializeAsString() ==
        Spec("concatenation { parts { npy_folder {} } parts { mds {} } }")
            .SerializeAsString());
}

TEST_CASE("A dataset is described by a kind or as in protocol 3 and not both",
          "[dataset][canonical_spec]") {
  const std::string refusal =
      "a: is described both as in protocol 3 and as in later ones: send one of "
      "the two";
  for (const std::string old :
       {"v3_format: MDS", "v3_shards: ''", "v3_fields: 'x'", "v3_manifest: 'x'",
        "v3_columns: 'x'", "v3_parts {}", "v3_arrays {}", "v3_samples: 1",
        "v3_identity: 'x'", "v3_lanes: 1", "v3_live: true", "v3_host_fields: 1",
        "v3_folder: 'x'", "v3_database: 'x'"}) {
    CHECK(Refusal("uri: 'a' mds {} " + old) == refusal);
  }
  CHECK(Refusal("concatenation { parts { uri: 'a' mds {} v3_lanes: 1 } }") ==
        refusal);
  CHECK(Refusal("v3_format: SUBSET "
                "v3_parts { uri: 'a' mds {} v3_lanes: 1 }") == refusal);
}

TEST_CASE("Settings of protocol 3 that their format does not have are refused",
          "[dataset][canonical_spec]") {
  CHECK(Refusal("uri: 'a'") == "a: dataset format 0 is not known");
  CHECK(Refusal("") == ": dataset format 0 is not known");
  proto::DatasetSpec unknown;
  unknown.set_v3_format(static_cast<proto::DatasetSpec::Format>(-7));
  CHECK(CanonicalSpec(unknown).status().message() ==
        ": dataset format -7 is not known");
  CHECK(Refusal("uri: 'a' v3_format: IMAGE_FOLDER v3_fields: 'image'") ==
        "a: samples of folders of audio files have the fields \"audio\" and "
        "\"label\", or \"audio\" alone");
  CHECK(Refusal("uri: 'a' v3_format: NPY v3_fields: 'audio'") ==
        "a: samples of folders of .npy files have the fields \"array\" and "
        "\"label\", or \"array\" alone");
  CHECK(
      Refusal("uri: 'a' v3_format: ZIP v3_fields: 'audio'") ==
      "a: samples of zip archives have the fields \"image\" or \"audio\", and "
      "\"label\"");
  CHECK(Refusal("uri: 'a' v3_format: NPZ v3_fields: 'x'") ==
        "a: arrays of .npz files are read as \"rows\", as \"files\", or as "
        "files in \"classes\"");
  CHECK(Refusal("uri: 'a' v3_format: MANIFEST v3_fields: 'image'") ==
        "a: a manifest has 1 to 15 fields, each with its column");
  for (const std::string format :
       {"TFRECORD", "ARRAY_RECORD", "LMDB", "MDS", "HDF5"}) {
    CHECK(Refusal("v3_columns: 'x' v3_format: " + format) ==
          ": each column has one type, or none");
  }
  CHECK(Refusal("uri: 'a' v3_format: TOKENS") ==
        "a: samples of tokens need a length, or \"document\"");
  CHECK(Refusal("uri: 'a' v3_format: SUBSET") ==
        "a: a subset is of one dataset");
  CHECK(Refusal("v3_format: SUBSET v3_parts {} v3_parts {}") ==
        ": a subset is of one dataset");
  CHECK(Refusal("v3_format: CONCATENATION v3_parts { v3_format: MDS } "
                "v3_parts { uri: 'a' }") == "a: dataset format 0 is not known");
}

// Any spec that can be parsed is refused, or becomes canonical and then stays
// the same.
TEST_CASE("A canonical spec made of garbage has no settings of protocol 3",
          "[dataset][canonical_spec]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<Pair>& pairs = Pairs();
  for (int round = 0; round < 20'000; ++round) {
    const Pair& pair = pairs[random() % pairs.size()];
    std::string bytes =
        Spec(random() % 2 == 0 ? pair.old : pair.kind).SerializeAsString();
    for (int change = 0; change < 2; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    proto::DatasetSpec spec;
    if (!spec.ParseFromString(bytes)) continue;
    const auto canonical = CanonicalSpec(spec);
    if (!canonical.ok()) continue;
    if (canonical->DebugString().find("v3_") != std::string::npos)
      FAIL(spec.DebugString());
    const auto again = CanonicalSpec(*canonical);
    if (!again.ok() ||
        again->SerializeAsString() != canonical->SerializeAsString())
      FAIL(spec.DebugString());
  }
}

}  // namespace
}  // namespace forebay::dataset
