#ifndef FOREBAY_SERVER_BASE_CRC32C_H_
#define FOREBAY_SERVER_BASE_CRC32C_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::base {

// Returns the CRC32C of `bytes`, as Google Cloud Storage computes it. `before`:
// that of the bytes before them. Thread-safe; never blocks.
std::uint32_t Crc32c(absl::Span<const std::uint8_t> bytes,
                     std::uint32_t before = 0);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CRC32C_H_
