#ifndef FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the orientation, 1 to 8, in the metadata of a JPEG, PNG, WebP or AVIF
// file, as Pillow finds it. The orientation tag in the EXIF data's first
// directory is used or, if there is no such tag, the orientation in an XMP
// packet. For an AVIF file, callers use the result only if the file has neither
// rotation nor mirroring. Returns 1 for files of other formats, and if the
// metadata is missing or damaged. Takes any input, and reads each byte at most
// a few times. Thread-safe; never blocks.
std::uint32_t OrientationOf(absl::Span<const std::uint8_t> file);

// Returns the orientation in an EXIF block; 0 if the block has none.
std::uint32_t OrientationInExif(absl::Span<const std::uint8_t> exif);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_
