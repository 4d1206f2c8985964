#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// How an image is turned before it is looked at. Mirroring comes first, in the
// image as it is stored; then columns become rows.
struct Turn {
  bool left_right = false;
  bool top_bottom = false;
  bool transposed = false;

  bool any() const { return left_right || top_bottom || transposed; }
};

// Returns what an orientation of TIFF or EXIF, 1 to 8, means. All other numbers
// mean no turn.
Turn TurnOf(std::uint32_t orientation);

// Returns where a region of the turned image lies in the stored one, which is
// as large as `width` and `height` say.
Region StoredRegion(const Turn& turn, std::uint32_t width, std::uint32_t height,
                    const Region& turned);

// Returns the bytes that TurnedRows allocates for a turned region of that size.
std::uint64_t TurnedBytes(std::uint32_t width, std::uint32_t height);

// Takes the rows of a region as it is stored, and hands on those of the turned
// one.
//
// Not thread-safe. Borrows `pixels`, which it makes as large as the region.
// Does not block; no errors.
class TurnedRows final : public RowSink {
 public:
  TurnedRows(const Turn& turn, const Region& stored,
             std::vector<std::uint8_t>& pixels);

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override;
  // Call it when all rows have come.
  void HandOn(RowSink& sink) const;

 private:
  // Writes rows of the turned region, without gaps.
  void TurnStrip(std::uint32_t first, std::uint32_t count,
                 std::uint8_t* strip) const;

  const Turn turn_;
  const std::uint32_t width_;  // as stored
  const std::uint32_t height_;
  std::vector<std::uint8_t>& pixels_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TURNED_ROWS_H_
