#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes the first image of TIFF files by libtiff: gray, palette and RGB, in
// strips or tiles. Pixels may be compressed by LZW, deflate, PackBits, CCITT
// fax or JPEG. Like Pillow's convert("RGB"), drops transparency, keeps the high
// byte of 16-bit colors, clips 16-bit gray at 255, and turns the image as its
// orientation says.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. For other
// kinds of TIFF, Open returns DATA_LOSS, and the error names the kind. Strips
// and tiles below the region are not decompressed, so damage there is not
// noticed. Truncation is noticed anywhere.
class TiffDecoder : public ImageDecoder {
 public:
  explicit TiffDecoder(const DecodeLimits& limits);
  ~TiffDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // The implementation, which keeps libtiff's headers out of this one.
  class Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_DECODER_H_
