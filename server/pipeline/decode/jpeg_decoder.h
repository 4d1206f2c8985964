#ifndef FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes only a region of a JPEG image, by libjpeg-turbo. The pixels are the
// same, bit for bit, as those of a full decode. Images may be baseline,
// extended, progressive or arithmetic-coded, in grayscale, YCbCr, RGB, CMYK or
// YCCK. For a smaller scale, fewer coefficients of each block are used.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Like
// Pillow, it ignores what libjpeg only warns of, and decodes a damaged image as
// well as possible. If Pillow refuses a file, Decode refuses every region of
// it. Only Decode finds truncation, not Open.
class JpegDecoder : public ImageDecoder {
 public:
  explicit JpegDecoder(const DecodeLimits& limits);
  ~JpegDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  Reduction Reduce(std::uint32_t factor) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // The implementation, which keeps libjpeg's headers out of this one.
  class Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_
