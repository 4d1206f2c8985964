#ifndef FOREBAY_SERVER_BASE_BYTE_SIZE_H_
#define FOREBAY_SERVER_BASE_BYTE_SIZE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// Returns the number of bytes that `text` names: a whole number with B, KiB,
// MiB, GiB or TiB ("512MiB"), or a percentage of `total` bytes from 0% to 100%
// ("25%"). Signs, fractions and other units are refused. INVALID_ARGUMENT
// quotes the text. Thread-safe; never blocks.
absl::StatusOr<std::uint64_t> ParseByteSize(std::string_view text,
                                            std::uint64_t total);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_BYTE_SIZE_H_
