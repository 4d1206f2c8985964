#ifndef FOREBAY_SERVER_BASE_BYTE_SIZE_H_
#define FOREBAY_SERVER_BASE_BYTE_SIZE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// Returns the bytes of a size as people write it: a whole number and B, KiB,
// MiB, GiB or TiB ("512MiB"), or a percentage of `total` from 0% to 100%
// ("25%"). Takes no signs, fractions or other units. INVALID_ARGUMENT quotes
// the text.
absl::StatusOr<std::uint64_t> ParseByteSize(std::string_view text,
                                            std::uint64_t total);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_BYTE_SIZE_H_
