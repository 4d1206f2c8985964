#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_

#include <avif/avif.h>

#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The metadata of an AVIF file, but for rotation and mirroring. Takes
// any input; nothing is found in files that are damaged.
//
// Immutable. Owns copies, of which none is longer than the file. Does not
// block; has no errors.
class AvifMetadata {
 public:
  explicit AvifMetadata(absl::Span<const std::uint8_t> file);

  absl::Span<const std::uint8_t> exif() const;
  absl::Span<const std::uint8_t> xmp() const;

 private:
  struct Destroyer {
    void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
  };

  // Null if nothing can be read.
  std::unique_ptr<avifDecoder, Destroyer> decoder_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_
