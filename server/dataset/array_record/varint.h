#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

// Varints, the numbers of protocol buffers and Riegeli: seven bits a byte, the
// lowest first. The highest bit is set in all bytes but the last.

namespace forebay::dataset::array_record {

// Removes a number from the front of `bytes`, and returns it. Returns nothing,
// and removes nothing, if `bytes` do not begin with a number of at most 64
// bits. Thread-safe; never blocks.
inline std::optional<std::uint64_t> TakeVarint(
    absl::Span<const std::uint8_t>* bytes) {
  // Nine bytes hold 63 bits, so the tenth is 0 or 1.
  constexpr std::size_t kMostBytes = 10;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kMostBytes && i < bytes->size(); ++i) {
    const std::uint64_t bits = (*bytes)[i] & 0x7f;
    if (i + 1 == kMostBytes && (*bytes)[i] > 1) break;
    number |= bits << (7 * i);
    if ((*bytes)[i] > 0x7f) continue;
    bytes->remove_prefix(i + 1);
    return number;
  }
  return std::nullopt;
}

// Returns the length in bytes of a number's shortest varint.
constexpr std::uint64_t VarintBytes(std::uint64_t number) {
  std::uint64_t bytes = 1;
  for (; number > 0x7f; number >>= 7) ++bytes;
  return bytes;
}

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_
