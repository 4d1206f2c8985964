#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// The turn that an image's orientation asks for. Mirroring comes first, in the
// image as it is stored; then columns become rows.
struct Rotation {
  bool left_right = false;
  bool top_bottom = false;
  bool transposed = false;

  bool any() const { return left_right || top_bottom || transposed; }
};

// Returns the turn that an orientation of TIFF or EXIF, 1 to 8, asks for. Other
// numbers mean no turn.
Rotation TurnOf(std::uint32_t orientation);

// Returns the region of the stored image that becomes the region `turned` of
// the turned image. The stored image has `width` x `height` pixels.
Region StoredRegion(const Rotation& turn, std::uint32_t width,
                    std::uint32_t height, const Region& turned);

// Returns the number of bytes that TurnedRows allocates for a turned region of
// `width` x `height` pixels.
std::uint64_t TurnedBytes(std::uint32_t width, std::uint32_t height);

// A sink that takes the rows of a region of the stored image. HandOn then gives
// the rows of the turned region to another sink.
//
// Not thread-safe. Borrows `pixels`, and resizes it to hold the region. Never
// blocks. No errors.
class TurnedRows final : public RowSink {
 public:
  // Makes a sink for the region `stored` of the stored image.
  TurnedRows(const Rotation& turn, const Region& stored,
             std::vector<std::uint8_t>& pixels);

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override;
  // Gives the turned rows to `sink`. Call it after Rows has got all rows.
  void HandOn(RowSink& sink) const;

 private:
  // Writes `count` rows of the turned region, from row `first` on, to `strip`
  // without gaps.
  void TurnStrip(std::uint32_t first, std::uint32_t count,
                 std::uint8_t* strip) const;

  const Rotation turn_;
  // Size of the region as it is stored.
  const std::uint32_t width_;
  const std::uint32_t height_;
  std::vector<std::uint8_t>& pixels_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_
