#ifndef FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Reads the pixels of a raw image (proto/raw_image.h). If possible, gives RGB
// pixels to the sink without a copy. Gray pixels are widened to RGB.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. If an image
// is shorter or longer than its header says, Open returns DATA_LOSS.
class RawDecoder : public ImageDecoder {
 public:
  explicit RawDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Returns the pixels of a row of the region.
  absl::Span<const std::uint8_t> RowOf(const Region& region,
                                       std::uint32_t row) const;
  // Returns how many of the region's rows, from the first on, the sink can read
  // directly in the file.
  std::uint32_t RowsInPlace(const Region& region) const;
  // Writes a row's pixels as RGB.
  void Copy(absl::Span<const std::uint8_t> row, std::uint8_t* rgb) const;

  const DecodeLimits limits_;
  // The image's pixels; empty if no image is open.
  absl::Span<const std::uint8_t> pixels_;
  ImageInfo info_;
  std::uint32_t channels_ = 0;
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_
