#ifndef FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes lossy and lossless WebP images, and the first frame of animated ones,
// by libwebp. Like Pillow's convert("RGB"), drops transparency. Pixels that the
// first frame leaves out are black.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Rows below
// the region are not decompressed, so damage there is not noticed. Truncation
// is noticed anywhere.
class WebpDecoder : public ImageDecoder {
 public:
  explicit WebpDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Finds the first frame: its bytes in the file and its place in the image.
  absl::Status ReadContainer(absl::Span<const std::uint8_t> encoded);
  // Decodes a part of the frame, in the frame's coordinates, to pixels_.
  absl::Status DecodePart(const Region& part);
  // Gives the region's rows to the sink. `part` is the part of the frame that
  // pixels_ holds, in the frame's coordinates.
  void HandOn(const Region& region, const Region& part, RowSink& sink);
  // Returns the number of bytes that decoding the first frame needs, rounded
  // up.
  std::uint64_t ScratchBytes(absl::Span<const std::uint8_t> encoded) const;

  const DecodeLimits limits_;
  ImageInfo info_;
  // The frame's VP8 or VP8L chunk and what follows; empty if no image is open.
  absl::Span<const std::uint8_t> frame_bytes_;
  // The ALPH chunk and the frame_bytes_ behind it; empty if the frame has no
  // alpha.
  absl::Span<const std::uint8_t> alpha_and_frame_;
  // Place of the frame in the image.
  Region frame_;
  bool lossless_ = false;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> strip_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_WEBP_DECODER_H_
