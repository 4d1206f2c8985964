#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_LMDB_GOLDEN_LMDB_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_LMDB_GOLDEN_LMDB_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "tests/catch/catch.h"

namespace forebay::dataset::lmdb {

// An entry of a file, as liblmdb reads it: see
// tests/golden/lmdb/make_golden.py.
struct GoldenEntry {
  std::string key;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
};

struct GoldenDatabase {
  std::string name;  // empty: the unnamed database
  std::vector<GoldenEntry> entries;
};

struct GoldenLmdb {
  std::string file;
  std::uint64_t page_bytes = 0;
  std::uint64_t transaction = 0;
  std::vector<GoldenDatabase> databases;
};

std::vector<GoldenLmdb> GoldenLmdbs();

// Returns the bytes of a file of tests/golden/lmdb.
std::string GoldenFile(const std::string& name);

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Returns the number at `offset` of a file. Tests check such numbers, or damage
// them.
template <typename T>
T Get(const std::string& file, std::size_t offset) {
  T value = 0;
  CHECK(offset + sizeof(T) <= file.size());
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void Put(std::string& file, std::size_t offset, T value) {
  REQUIRE(offset + sizeof(T) <= file.size());
  std::memcpy(file.data() + offset, &value, sizeof(value));
}

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_LMDB_GOLDEN_LMDB_H_
