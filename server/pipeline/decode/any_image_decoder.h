#ifndef FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/format.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/decode/jpeg_decoder.h"
#include "server/pipeline/decode/png_decoder.h"
#include "server/pipeline/decode/raw_decoder.h"

namespace forebay::pipeline::decode {

// Decodes whatever format the first bytes of a file say it is; its name is
// never asked.
//
// Threads, ownership, blocking and errors as ImageDecoder says. What is
// neither JPEG nor PNG, nor a raw image (proto/raw_image.h), is DATA_LOSS,
// saying what it looks like.
class AnyImageDecoder : public ImageDecoder {
 public:
  explicit AnyImageDecoder(const DecodeLimits& limits);

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Null: there is none for that format.
  ImageDecoder* DecoderOf(Format format);

  JpegDecoder jpeg_;
  PngDecoder png_;
  RawDecoder raw_;
  ImageDecoder* opened_ = nullptr;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_
