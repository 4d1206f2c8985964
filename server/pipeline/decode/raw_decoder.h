#ifndef FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Reads the pixels of a raw image (proto/raw_image.h): those of an RGB image
// straight from where they lie, gray ones widened to RGB.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. An image
// that is shorter or longer than its header says is DATA_LOSS.
class RawDecoder : public ImageDecoder {
 public:
  explicit RawDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  absl::Span<const std::uint8_t> RowOf(const Region& region,
                                       std::uint32_t row) const;
  // Returns how many rows of the region the sink can read where they lie.
  std::uint32_t RowsInPlace(const Region& region) const;
  void Copy(absl::Span<const std::uint8_t> row, std::uint8_t* rgb) const;

  const DecodeLimits limits_;
  absl::Span<const std::uint8_t> pixels_;  // empty if nothing is open
  ImageInfo info_;
  std::uint32_t channels_ = 0;
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_RAW_DECODER_H_
