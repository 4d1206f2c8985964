#ifndef FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes PNG images of every color type and depth by libpng: row by row, or as
// a whole if the image is interlaced. Like Pillow's convert("RGB"), drops
// transparency, keeps the high byte of 16-bit colors, and clips 16-bit gray at
// 255.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Rows below
// the region are not decompressed, so damage there is not noticed. Truncation
// is noticed anywhere.
class PngDecoder : public ImageDecoder {
 public:
  explicit PngDecoder(const DecodeLimits& limits);
  ~PngDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // The implementation, which keeps libpng's headers out of this one.
  class Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_
