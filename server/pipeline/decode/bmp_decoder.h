#ifndef FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes BMPs of palettes, 24 and 32 bits, as a whole. As Pillow's
// convert("RGB"), it drops transparency.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Packed BMPs
// and those of 16 bits are DATA_LOSS, too, by name.
class BmpDecoder : public ImageDecoder {
 public:
  explicit BmpDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  struct Header {
    std::uint64_t pixels = 0;  // where they begin
    std::uint64_t palette = 0;
    std::uint64_t colors = 0;  // of the palette
    std::uint32_t bits = 0;    // of a pixel
  };

  // The file has a header of the usual length.
  absl::Status ReadHeader(absl::Span<const std::uint8_t> encoded);
  // DATA_LOSS: pixels have colors that the palette lacks.
  absl::Status CheckIndices() const;
  std::uint64_t RowBytes() const;

  const DecodeLimits limits_;
  absl::Span<const std::uint8_t> encoded_;  // empty if nothing is open
  ImageInfo info_;
  Header header_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_BMP_DECODER_H_
