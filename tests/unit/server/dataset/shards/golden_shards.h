#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_SHARDS_GOLDEN_SHARDS_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_SHARDS_GOLDEN_SHARDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace forebay::dataset::shards {

// A field of a shard, as webdataset reads it: see
// tests/golden/shards/make_golden.py.
struct GoldenField {
  std::string extension;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
};

struct GoldenSample {
  std::string key;
  std::vector<GoldenField> fields;
};

struct GoldenShard {
  std::string name;
  std::vector<GoldenSample> samples;
  // Key of the sample with two members of one extension, if there is one.
  std::string duplicate_key;
};

std::vector<GoldenShard> GoldenShards();

// Returns the words of each line of names.txt or braces.txt, unquoted.
std::vector<std::vector<std::string>> GoldenRows(const std::string& name);

// Returns the bytes of a file of tests/golden/shards.
std::string GoldenFile(const std::string& name);

absl::Span<const std::uint8_t> AsBytes(std::string_view text);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_SHARDS_GOLDEN_SHARDS_H_
