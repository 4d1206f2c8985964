#ifndef FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes PNGs of every color type and depth: row by row, interlaced ones as a
// whole. As Pillow's convert("RGB"), it drops transparency, keeps the high byte
// of 16-bit colors, and makes 16-bit grays above 255 255.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. It does not
// decompress rows below the region, so that damage there is not noticed. A
// truncated file is.
class PngDecoder : public ImageDecoder {
 public:
  explicit PngDecoder(const DecodeLimits& limits);
  ~PngDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  class Codec;  // keeps libpng's headers and macros out of this one
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_PNG_DECODER_H_
