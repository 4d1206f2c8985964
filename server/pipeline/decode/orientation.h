#ifndef FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the orientation, 1 to 8, that the metadata of a JPEG, PNG, WebP or
// AVIF file tell, as Pillow finds it: the tag of that name in the first
// directory of the EXIF data, else in an XMP packet. Of AVIFs, that is what
// counts if their rotation and mirroring say nothing. Returns 1 for all other
// files, and where the data are damaged. Takes any input, and reads each byte a
// few times at most. Thread-safe; never blocks.
std::uint32_t OrientationOf(absl::Span<const std::uint8_t> file);

// Returns the orientation that an EXIF block tells; 0 if it tells none.
std::uint32_t OrientationInExif(absl::Span<const std::uint8_t> exif);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_ORIENTATION_H_
