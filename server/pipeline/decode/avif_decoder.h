#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes AVIF images, and the first frame of animated ones, by libavif and
// dav1d. Like Pillow's convert("RGB"), drops transparency, and reduces deeper
// samples to 8 bits. ImageInfo::orientation is the number that Pillow derives
// from the file's rotation and mirroring ("irot" and "imir").
//
// Threads, ownership, blocking and errors are as ImageDecoder says. Decode
// always decompresses the whole frame, even for a small region.
class AvifDecoder : public ImageDecoder {
 public:
  explicit AvifDecoder(const DecodeLimits& limits);
  ~AvifDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // The implementation, which keeps libavif's header out of this one.
  class Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_
