#ifndef FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes lossy and lossless WebPs, and the first frame of animated ones. As
// Pillow's convert("RGB"), it drops transparency, and pixels that the first
// frame leaves out are black.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. It does not
// decompress rows below the region, so that damage there is not noticed. A
// truncated file is.
class WebpDecoder : public ImageDecoder {
 public:
  explicit WebpDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Finds the first frame: where it lies in the file and in the image.
  absl::Status ReadContainer(absl::Span<const std::uint8_t> encoded);
  // Decodes a part of the frame, in the frame's coordinates, to pixels_.
  absl::Status DecodePart(const Region& part);
  // Hands on the region that `part`, in the frame's coordinates, covers.
  void HandOn(const Region& region, const Region& part, RowSink& sink);
  std::uint64_t ScratchBytes(absl::Span<const std::uint8_t> encoded) const;

  const DecodeLimits limits_;
  ImageInfo info_;
  absl::Span<const std::uint8_t> frame_bytes_;  // empty if nothing is open
  // The same and the chunk of alpha before it; empty without alpha.
  absl::Span<const std::uint8_t> alpha_and_frame_;
  Region frame_;
  bool lossless_ = false;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_
