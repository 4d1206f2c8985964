#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_GOLDEN_FILES_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_GOLDEN_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace forebay::dataset::array_record {

struct GoldenRecord {
  std::uint64_t length = 0;  // bytes
  std::uint32_t crc32 = 0;

  bool operator==(const GoldenRecord&) const = default;
};

// A file of tests/golden/array_record, and what array_record reads from it.
struct GoldenFile {
  std::string name;
  std::vector<GoldenRecord> records;
};

std::vector<GoldenFile> GoldenFiles();

// Returns the bytes of a file of tests/golden/array_record. `name` has no
// extension.
std::string GoldenBytes(std::string_view name);

GoldenRecord RecordOf(absl::Span<const std::uint8_t> record);

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(absl::Span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_GOLDEN_FILES_H_
