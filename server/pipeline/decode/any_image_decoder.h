#ifndef FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/avif_decoder.h"
#include "server/pipeline/decode/bmp_decoder.h"
#include "server/pipeline/decode/format.h"
#include "server/pipeline/decode/gif_decoder.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/decode/jpeg_decoder.h"
#include "server/pipeline/decode/netpbm_decoder.h"
#include "server/pipeline/decode/png_decoder.h"
#include "server/pipeline/decode/raw_decoder.h"
#include "server/pipeline/decode/tiff_decoder.h"
#include "server/pipeline/decode/webp_decoder.h"

namespace forebay::pipeline::decode {

// Decodes an image of any supported format. The file's first bytes, not its
// name, tell the format.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. For a file
// of another format, Open returns DATA_LOSS, and the error says which format
// the file seems to have. Raw images (proto/raw_image.h), which the daemon
// itself makes, are decoded as well.
class AnyImageDecoder : public ImageDecoder {
 public:
  explicit AnyImageDecoder(const DecodeLimits& limits);

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  Reduction Reduce(std::uint32_t factor) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Returns the decoder of a format; null if there is no such decoder.
  ImageDecoder* DecoderOf(Format format);

  JpegDecoder jpeg_;
  PngDecoder png_;
  WebpDecoder webp_;
  GifDecoder gif_;
  TiffDecoder tiff_;
  BmpDecoder bmp_;
  NetpbmDecoder netpbm_;
  AvifDecoder avif_;
  RawDecoder raw_;
  // The decoder that has an image open; null if no image is open.
  ImageDecoder* opened_ = nullptr;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_ANY_IMAGE_DECODER_H_
