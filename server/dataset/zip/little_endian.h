#ifndef FOREBAY_SERVER_DATASET_ZIP_LITTLE_ENDIAN_H_
#define FOREBAY_SERVER_DATASET_ZIP_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "server/base/check.h"

namespace forebay::dataset::zip {

static_assert(std::endian::native == std::endian::little,
              "the numbers of zip archives are little-endian");

// Returns the number at `offset` in `bytes`. All bytes of the number must lie
// within `bytes`.
template <typename Number>
Number NumberAt(absl::Span<const std::uint8_t> bytes, std::size_t offset) {
  FOREBAY_CHECK(offset <= bytes.size() &&
                sizeof(Number) <= bytes.size() - offset);
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_LITTLE_ENDIAN_H_
