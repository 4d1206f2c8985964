#ifndef FOREBAY_SERVER_PIPELINE_DECODE_REGION_COPY_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_REGION_COPY_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Copies a region's pixels to `out`, row after row without gaps, and mirrors
// them if asked. Not thread-safe. Borrows `out`. Never blocks. No errors.
class RegionCopy final : public RowSink {
 public:
  // The directions in which the copy is mirrored.
  struct Mirror {
    bool left_right = false;
    bool top_bottom = false;
  };

  // Makes a sink that copies to `out`, which has room for three bytes for each
  // of the region's pixels.
  RegionCopy(const Region& region, std::uint8_t* out)
      : RegionCopy(region, out, Mirror()) {}
  RegionCopy(const Region& region, std::uint8_t* out, Mirror mirror)
      : row_bytes_(std::size_t{3} * region.width),
        last_row_(region.height - 1),
        mirror_(mirror),
        out_(out) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override;

 private:
  const std::size_t row_bytes_;
  const std::uint32_t last_row_;
  const Mirror mirror_;
  std::uint8_t* const out_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_REGION_COPY_H_
