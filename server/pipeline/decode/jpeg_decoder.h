#ifndef FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes only the region of a JPEG, bit for bit as a full decode would:
// baseline, extended, progressive and arithmetic; grayscale, YCbCr, RGB, CMYK
// and YCCK. Reduced images are libjpeg-turbo's, from fewer coefficients of each
// block.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Like
// Pillow, it decodes damage that libjpeg only warns of as well as possible, and
// refuses all regions of a file that Pillow refuses. So only Decode finds
// truncation.
class JpegDecoder : public ImageDecoder {
 public:
  explicit JpegDecoder(const DecodeLimits& limits);
  ~JpegDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  Reduction Reduce(std::uint32_t factor) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  class Codec;  // keeps libjpeg's headers and macros out of this one
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_JPEG_DECODER_H_
