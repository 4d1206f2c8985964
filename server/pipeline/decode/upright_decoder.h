#ifndef FOREBAY_SERVER_PIPELINE_DECODE_UPRIGHT_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_UPRIGHT_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/any_image_decoder.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/decode/turned_rows.h"

namespace forebay::pipeline::decode {

// Decodes an image of any format, as it is stored or as Pillow's
// ImageOps.exif_transpose turns it. Only the part of the image that the region
// shows is decoded. If the image is turned, that part is first collected in
// memory.
//
// Threads, ownership, blocking and errors are as ImageDecoder says.
class UprightDecoder final : public ImageDecoder {
 public:
  explicit UprightDecoder(const DecodeLimits& limits)
      : limits_(limits), decoder_(limits) {}

  // Opens an image as it is stored.
  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  // Opens an image, to be turned as its orientation says. Sizes and regions are
  // those of the turned image.
  absl::StatusOr<ImageInfo> OpenUpright(absl::Span<const std::uint8_t> encoded);

  Reduction Reduce(std::uint32_t factor) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  const DecodeLimits limits_;
  AnyImageDecoder decoder_;
  Rotation turn_;
  // Info about the image as it is stored.
  ImageInfo stored_;
  Reduction reduction_;
  // Pixels of a region of the stored image, while the region is turned.
  std::vector<std::uint8_t> pixels_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_UPRIGHT_DECODER_H_
