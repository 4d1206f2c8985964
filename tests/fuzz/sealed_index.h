#ifndef FOREBAY_TESTS_FUZZ_SEALED_INDEX_H_
#define FOREBAY_TESTS_FUZZ_SEALED_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"

namespace forebay::fuzz {

// Fuzzing of index files (server/dataset/index_file.h).

// Calls `read` with the bytes, and then with the bytes followed by their
// correct checksum.
template <typename Read>
void ReadAsTheyAreAndSealed(absl::Span<const std::uint8_t> bytes, Read read) {
  read(bytes);
  std::string sealed(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (sealed.size() >= dataset::kIndexFileChecksumBytes)
    sealed.resize(sealed.size() - dataset::kIndexFileChecksumBytes);
  dataset::SealIndexFile(sealed);
  read(absl::Span<const std::uint8_t>(
      reinterpret_cast<const std::uint8_t*>(sealed.data()), sealed.size()));
}

inline bool AreEqual(absl::Span<const std::uint8_t> bytes,
                     std::string_view text) {
  return std::equal(
      bytes.begin(), bytes.end(), text.begin(), text.end(),
      [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
}

}  // namespace forebay::fuzz

#endif  // FOREBAY_TESTS_FUZZ_SEALED_INDEX_H_
