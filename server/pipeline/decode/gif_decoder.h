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

// Decodes the first frame of GIF images by giflib: row by row, or as a whole if
// the frame is interlaced. Like Pillow's convert("RGB"), drops transparency.
// Pixels that the frame leaves out have the palette's transparent color, or its
// first color if no color is transparent. If the frame reaches beyond the
// image, the image becomes larger.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Damage
// anywhere in the frame is noticed, if Pillow notices it. Bytes behind the
// frame are not read.
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

  // Gives giflib its next bytes. Returns how many bytes it wrote to `out`.
  static int OnRead(GifFileType* gif, std::uint8_t* out, int size);

  // Reads blocks up to the first frame's pixels.
  absl::Status ReadHeaders();
  // Reads an extension block. Notes the frame's transparent color if the block
  // has one.
  absl::Status ReadExtension();
  // Fills the table with the frame's palette, or with the image's palette if
  // the frame has none.
  void ReadPalette();
  // Reads all rows of an interlaced frame into indices_.
  absl::Status ReadInterlaced();
  // Gives the region's rows to the sink.
  absl::Status DecodeRows(const Region& region, RowSink& sink);
  // Reads the frame's next row of color indices.
  absl::Status ReadRow(std::uint8_t* indices);
  // Writes the region's part of the image's row `row` as RGB. `indices` are the
  // color indices of that row of the frame.
  void ToRgb(const Region& region, std::uint32_t row,
             const std::uint8_t* indices, std::uint8_t* rgb) const;
  // Checks all of the frame's codes, also the codes of rows below the region.
  absl::Status CheckCodes();
  // Whether the frame has pixels in a row of the image.
  bool HasRow(std::uint32_t row) const;
  // Returns the error that giflib has met.
  absl::Status FailureStatus() const;
  // Frees giflib's state, and buffers that are too large to keep.
  void Close();

  const DecodeLimits limits_;
  absl::Span<const std::uint8_t> encoded_;
  // Offset in the file of the next byte that giflib gets.
  std::size_t position_ = 0;
  // Whether giflib asked for bytes beyond the file's end.
  bool truncated_ = false;
  // Whether CheckCodes has found all codes of the frame.
  bool has_all_codes_ = false;
  // The state of giflib; null if no image is open.
  std::unique_ptr<GifFileType, Closer> gif_;
  ImageInfo info_;
  // Place of the first frame in the image.
  Region frame_;
  bool interlaced_ = false;
  // Color index for pixels that the frame leaves out.
  std::uint8_t background_ = 0;
  // RGB color of each index.
  std::array<std::array<std::uint8_t, 3>, 256> table_{};
  // Row of the frame that giflib reads next.
  std::uint32_t next_row_ = 0;
  // Color indices of one row of the frame, or of all its rows if it is
  // interlaced.
  std::vector<std::uint8_t> indices_;
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_GIF_DECODER_H_
