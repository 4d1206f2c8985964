#ifndef FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Facts from an image's header.
struct ImageInfo {
  // Size in pixels as stored in the file, before its orientation is applied.
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // Bytes of memory that Decode will allocate, rounded up.
  std::uint64_t scratch_bytes = 0;
  // Orientation, 1 to 8 as in EXIF, that the image's container states; 0 if it
  // states none. The image's metadata may then state one.
  std::uint32_t orientation = 0;
};

// A rectangle of an image's pixels, which must lie in the image and not be
// empty.
struct Region {
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// Whether a region lies in an image of `width` x `height` pixels and is not
// empty.
bool LiesIn(const Region& region, std::uint32_t width, std::uint32_t height);

// The scale at which an image is decoded. Each decoded pixel stands for a
// square of factor x factor pixels of the image.
struct Reduction {
  std::uint32_t factor = 1;
  // Number of columns (rows) by which the squares of the first decoded pixels
  // reach beyond the image's left (top) edge.
  std::uint32_t left = 0;
  std::uint32_t top = 0;

  // Returns how many decoded pixels stand for `length` pixels of the image.
  std::uint32_t Reduced(std::uint32_t length) const {
    return length / factor + (length % factor != 0 ? 1 : 0);
  }
};

// The limits of one decode.
struct DecodeLimits {
  // The most pixels, width times height, of an image.
  std::uint64_t max_pixels = 178'956'970;
  // The most bytes that a decode may allocate: strips, coefficients, interlaced
  // pixels.
  std::uint64_t scratch_bytes = std::uint64_t{256} << 20;
};

// Checks an image against the limits. RESOURCE_EXHAUSTED: the image exceeds a
// limit; the message is a predicate. `format` is the format's name for the
// message: "JPEG". Thread-safe; never blocks.
absl::Status CheckLimits(std::string_view format, const ImageInfo& info,
                         const DecodeLimits& limits);

// Number of readable bytes behind a strip's last pixel. A sink may load these
// bytes, but must not use their values. Vector code then needs no special case
// for the end of a row.
inline constexpr std::size_t kStripPadding = 64;

// Takes the pixels of one region, from top to bottom, in strips of rows that
// are small enough for the first-level cache. Called on the decoder's thread,
// which borrows the sink. Must not throw, and should not block. No errors.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // Takes rows `first_row` to `first_row` + `count` - 1 of the region, whose
  // top row is 0. Each has region.width pixels of interleaved 8-bit RGB. Rows
  // begin `stride_bytes` bytes apart; any number is allowed, and `rgb` need not
  // be aligned. Strips follow each other without gap or overlap. The rows are
  // valid during the call only.
  virtual void Rows(std::uint32_t first_row, std::uint32_t count,
                    const std::uint8_t* rgb, std::size_t stride_bytes) = 0;
};

// Decodes a region of an encoded image to 8-bit RGB. The pixels are the same as
// those of Pillow's Image.open(file).convert("RGB").
//
// Not thread-safe: each thread has a decoder of its own, and reuses it from
// image to image. Borrows the encoded bytes from Open until Decode returns or
// the next Open. Never blocks. After any error the decoder is ready for the
// next Open.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  // Reads only the header, and allocates nothing large. DATA_LOSS: the bytes
  // are not an image of this format, or are corrupt or truncated.
  // RESOURCE_EXHAUSTED: the image needs more than max_pixels or scratch_bytes.
  // An error's message is a predicate, to be written after the file's name: "is
  // a truncated JPEG image".
  virtual absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) = 0;

  // Asks for the opened image at a smaller scale. Call it at most once, between
  // Open and Decode. `factor` is 2, 4 or 8. Returns the scale that Decode will
  // use; Decode's region is then in pixels of that scale. Formats that cannot
  // be decoded at a smaller scale return the factor 1.
  virtual Reduction Reduce(std::uint32_t factor) {
    static_cast<void>(factor);
    return {};
  }

  // Gives the rows of `region` of the opened image to `sink`. Call it once for
  // each Open. If Decode fails, the sink may have got some of the rows. Returns
  // the same errors as Open. In addition, INVALID_ARGUMENT: the region does not
  // lie in the image; FAILED_PRECONDITION: no image is open.
  virtual absl::Status Decode(const Region& region, RowSink& sink) = 0;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_IMAGE_DECODER_H_
