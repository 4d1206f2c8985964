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
// whole. Transparency is dropped, 16-bit colors keep their high byte, 16-bit
// grays above 255 become 255: all as Pillow's convert("RGB") does.
//
// Threads, ownership, blocking and errors as ImageDecoder says. Rows below the
// region are not decompressed, so damage there goes unseen; a file cut short
// does not.
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
