#ifndef FOREBAY_SERVER_PIPELINE_DECODE_GIF_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_GIF_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

struct GifFileType;  // giflib's

namespace forebay::pipeline::decode {

// Decodes the first frame of GIFs: row by row, interlaced ones as a whole. As
// Pillow's convert("RGB"), it drops transparency, gives pixels that the frame
// leaves out the color of its transparent ones, else the first of the palette,
// and makes the image larger if the frame leaves it.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Damage of
// the frame is noticed wherever it lies, as far as Pillow notices it. What
// follows the frame is not looked at.
class GifDecoder : public ImageDecoder {
 public:
  explicit GifDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  struct Closer {
    void operator()(GifFileType* gif) const;
  };

  // giflib's: returns how many bytes it wrote to `out`.
  static int OnRead(GifFileType* gif, std::uint8_t* out, int size);

  // Reads up to the first frame's pixels.
  absl::Status ReadHeaders();
  absl::Status ReadExtension();
  void ReadPalette();
  absl::Status ReadInterlaced();
  absl::Status DecodeRows(const Region& region, RowSink& sink);
  // Reads the frame's next row.
  absl::Status ReadRow(std::uint8_t* indices);
  // Writes the part of a row of the image that the region has.
  void ToRgb(const Region& region, std::uint32_t row,
             const std::uint8_t* indices, std::uint8_t* rgb) const;
  // Checks all of the frame's codes, also those of rows below a region.
  absl::Status CheckCodes();
  bool HasRow(std::uint32_t row) const;
  absl::Status FailureStatus() const;
  void Close();

  const DecodeLimits limits_;
  absl::Span<const std::uint8_t> encoded_;
  std::size_t position_ = 0;
  bool truncated_ = false;
  bool has_all_codes_ = false;                // of the frame, as checked
  std::unique_ptr<GifFileType, Closer> gif_;  // null if nothing is open
  ImageInfo info_;
  Region frame_;
  bool interlaced_ = false;
  std::uint8_t background_ = 0;  // an index
  std::array<std::array<std::uint8_t, 3>, 256> table_{};
  std::uint32_t next_row_ = 0;  // of the frame
  std::vector<std::uint8_t>
      indices_;  // a row, or all rows of an interlaced one
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_GIF_DECODER_H_
