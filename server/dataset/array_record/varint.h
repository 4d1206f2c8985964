#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

// Numbers as protocol buffers have them: seven bits a byte, the lowest first,
// and the highest bit of all bytes but the last.

namespace forebay::dataset::array_record {

// Takes a number off the front of `bytes`. Returns nothing, and takes nothing,
// if there is none. Thread-safe; never blocks.
inline std::optional<std::uint64_t> TakeVarint(
    absl::Span<const std::uint8_t>* bytes) {
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

// Bytes that a number takes, without leading zeros.
constexpr std::uint64_t VarintBytes(std::uint64_t number) {
  std::uint64_t bytes = 1;
  for (; number > 0x7f; number >>= 7) ++bytes;
  return bytes;
}

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_VARINT_H_
