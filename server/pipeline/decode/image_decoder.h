#ifndef FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

struct ImageInfo {
  // In pixels, as stored in the file: its orientation is ignored.
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // Bytes that Decode will allocate, rounded up.
  std::uint64_t scratch_bytes = 0;
  // As the container says, 1 to 8 as in EXIF; 0 where only EXIF data may say.
  std::uint32_t orientation = 0;
};

// A rectangle of pixels. It must not be empty and must lie in the image.
struct Region {
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// Whether a region is a part of an image of that size, and not empty.
bool LiesIn(const Region& region, std::uint32_t width, std::uint32_t height);

// An image at a smaller scale: each of its pixels stands for factor x factor of
// the image's.
struct Reduction {
  std::uint32_t factor = 1;
  // Columns and rows that the first of them has beyond the image's edge.
  std::uint32_t left = 0;
  std::uint32_t top = 0;

  // Returns how many pixels stand for so many of the image's.
  std::uint32_t Reduced(std::uint32_t length) const {
    return length / factor + (length % factor != 0 ? 1 : 0);
  }
};

struct DecodeLimits {
  std::uint64_t max_pixels = 178'956'970;  // width * height of an image
  // Bytes that one decode may allocate: strips, coefficients, interlaced
  // pixels.
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
};

// RESOURCE_EXHAUSTED: the image passes a limit; the message is a predicate.
// `format` is for people: "JPEG". Thread-safe; never blocks.
absl::Status CheckLimits(std::string_view format, const ImageInfo& info,
                         const DecodeLimits& limits);

// A sink may read, not use, so many bytes behind the last pixel of a strip, so
// that vector code needs no tail.
inline constexpr std::size_t kStripPadding = 64;

// Takes the pixels of one region, top to bottom, in strips small enough for the
// first-level cache. Called on the decoder's thread; must not throw and should
// not block.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // Takes rows first_row .. first_row + count - 1 of the region (0 is its top).
  // Each has region.width pixels of interleaved 8-bit RGB. They are
  // `stride_bytes` apart, which may be any number, and `rgb` is not aligned.
  // Strips follow each other without gap or overlap. The rows are valid during
  // the call only.
  virtual void Rows(std::uint32_t first_row, std::uint32_t count,
                    const std::uint8_t* rgb, std::size_t stride_bytes) = 0;
};

// Decodes a region of an encoded image to 8-bit RGB: the very pixels that
// Pillow's Image.open(file).convert("RGB") gives.
//
// Not thread-safe: one per worker thread, reused from image to image. Borrows
// the encoded bytes from Open until Decode returns or the next Open. Does not
// block. After any error the decoder is ready for the next Open.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  // Reads the header only; allocates nothing big. DATA_LOSS: no image of this
  // kind, corrupt, or truncated; RESOURCE_EXHAUSTED: more than max_pixels or
  // scratch_bytes. A message is a predicate, to be put behind the name of the
  // file: "is a truncated JPEG image".
  virtual absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) = 0;

  // Between Open and Decode, once at most: asks for the opened image at a
  // smaller scale. `factor` is 2, 4 or 8. Returns what Decode will give, and in
  // which the region then lies: the image itself, if this kind is not decoded
  // so.
  virtual Reduction Reduce(std::uint32_t factor) {
    static_cast<void>(factor);
    return {};
  }

  // Gives `region` of the opened image to `sink`; once per Open. If it fails,
  // the sink may have had some of the rows. Errors: as Open's;
  // INVALID_ARGUMENT: the region leaves the image; FAILED_PRECONDITION: nothing
  // is open.
  virtual absl::Status Decode(const Region& region, RowSink& sink) = 0;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_
