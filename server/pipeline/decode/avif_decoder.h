#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes AVIFs, and the first frame of animated ones, by libavif and dav1d. As
// Pillow's convert("RGB"), it drops transparency and makes 8 bits of deeper
// samples. ImageInfo::orientation is what Pillow makes of the file's rotation
// and mirroring.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. The frame
// is unpacked as a whole, whatever the region.
class AvifDecoder : public ImageDecoder {
 public:
  explicit AvifDecoder(const DecodeLimits& limits);
  ~AvifDecoder() override;

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  class Codec;  // keeps libavif's header out of this one
  std::unique_ptr<Codec> codec_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AVIF_DECODER_H_
