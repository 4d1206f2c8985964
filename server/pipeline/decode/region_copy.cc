#include "server/pipeline/decode/region_copy.h"

#include <cstring>

namespace forebay::pipeline::decode {
namespace {

void CopyMirrored(const std::uint8_t* row, std::size_t bytes,
                  std::uint8_t* out) {
  const std::uint8_t* const end = row + bytes;
  for (out += bytes - 3; row != end; row += 3, out -= 3)
    std::memcpy(out, row, 3);
}

}  // namespace

void RegionCopy::Rows(std::uint32_t first_row, std::uint32_t count,
                      const std::uint8_t* rgb, std::size_t stride_bytes) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t row = first_row + i;
    std::uint8_t* const out =
        out_ + (mirror_.top_bottom ? last_row_ - row : row) * row_bytes_;
    if (mirror_.left_right) {
      CopyMirrored(rgb + i * stride_bytes, row_bytes_, out);
    } else {
      std::memcpy(out, rgb + i * stride_bytes, row_bytes_);
    }
  }
}

}  // namespace forebay::pipeline::decode
