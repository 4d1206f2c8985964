#ifndef FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes BMP images by stb_image, always as a whole. The images have a
// palette, or 24 or 32 bits for each pixel. Like Pillow's convert("RGB"), drops
// transparency.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. For
// run-length encoded images and images of 16 bits, Open returns DATA_LOSS, and
// the error names the kind.
class BmpDecoder : public ImageDecoder {
 public:
  explicit BmpDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Facts from BITMAPFILEHEADER and BITMAPINFOHEADER.
  struct Header {
    // Offset of the pixels in the file (bfOffBits).
    std::uint64_t pixels = 0;
    // Offset of the palette, right behind the headers.
    std::uint64_t palette = 0;
    // Number of colors in the palette; 0 if there is no palette.
    std::uint64_t colors = 0;
    // Bits of a pixel (biBitCount).
    std::uint32_t bits = 0;
  };

  // Reads the headers. The file must be at least as long as headers of the
  // usual length.
  absl::Status ReadHeader(absl::Span<const std::uint8_t> encoded);
  // Checks that the palette has a color for the index of each pixel. DATA_LOSS:
  // a color is missing.
  absl::Status CheckIndices() const;
  // Returns the size in bytes of a row, padded to a multiple of four.
  std::uint64_t RowBytes() const;

  const DecodeLimits limits_;
  // The file up to its last pixel; empty if no image is open.
  absl::Span<const std::uint8_t> encoded_;
  ImageInfo info_;
  Header header_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_
