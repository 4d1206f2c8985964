#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_

#include <avif/avif.h>

#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The EXIF data and XMP packet of an AVIF file. Takes any input; a damaged file
// counts as a file without metadata.
//
// Immutable. Owns copies of the metadata; no copy is longer than the file.
// Never blocks. No errors.
class AvifMetadata {
 public:
  explicit AvifMetadata(absl::Span<const std::uint8_t> file);

  // Return the EXIF data and the XMP packet; empty if the file has none.
  absl::Span<const std::uint8_t> exif() const;
  absl::Span<const std::uint8_t> xmp() const;

 private:
  struct Destroyer {
    void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
  };

  // libavif's parser, which holds the copies; null if the file cannot be read.
  std::unique_ptr<avifDecoder, Destroyer> decoder_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AVIF_METADATA_H_
