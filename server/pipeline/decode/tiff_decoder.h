#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes the first image of TIFF files: gray ones, palettes and RGB, in strips
// or tiles, as they are, packed by LZW, deflate, PackBits or for faxes, or as
// JPEG. As Pillow's convert("RGB"), it drops transparency, keeps the high byte
// of 16-bit colors, makes 16-bit grays above 255 255, and turns the image as
// its orientation says.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Other kinds
// of TIFF are DATA_LOSS, too, by name. It does not unpack what lies below the
// region, so that damage there is not noticed. A truncated file is.
class TiffDecoder : public ImageDecoder {
 public:
  explicit TiffDecoder(const DecodeLimits& limits);
  ~TiffDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  class Codec;  // keeps libtiff's headers and macros out of this one
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_
