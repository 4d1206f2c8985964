#ifndef FOREBAY_SERVER_BASE_CRC32C_H_
#define FOREBAY_SERVER_BASE_CRC32C_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::base {

// Returns the CRC-32C (Castagnoli; RFC 3720 12.1) of `bytes`, the checksum of
// Google Cloud Storage and of the disk tier's records. `before` is the CRC-32C
// of the bytes that precede `bytes`, so that the checksum can be computed piece
// by piece. Thread-safe; never blocks; has no errors.
std::uint32_t Crc32c(absl::Span<const std::uint8_t> bytes,
                     std::uint32_t before = 0);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CRC32C_H_
