#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_

#include <tiffio.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace forebay::pipeline::decode {

// How samples, as libtiff gives them, become the RGB that Pillow's
// convert("RGB") gives.
struct TiffSamples {
  enum class Kind {
    kTable,   // gray or palette index of `bits`, through the table
    kGray16,  // clipped
    kRgb,     // of 8 or 16 bits, of which the high ones are kept
  };

  Kind kind = Kind::kRgb;
  std::uint32_t bits = 8;      // of a sample
  std::uint32_t channels = 3;  // of a pixel, in the file
  bool planar = false;         // each channel, of 8 bits, by itself
  std::array<std::array<std::uint8_t, 3>, 256> table{};

  // Bytes of a row of pixels; of one channel of them, if it is planar.
  std::uint64_t RowBytes(std::uint32_t width) const {
    return (std::uint64_t{width} * (planar ? 1 : channels) * bits + 7) / 8;
  }

  // Writes `count` pixels from pixel `first` of a row on. Not of planar ones.
  void ToRgb(const std::uint8_t* row, std::uint32_t first, std::uint32_t count,
             std::uint8_t* rgb) const;
};

// Reads the tags that say so. DATA_LOSS, by name: they are none of those that
// are read as Pillow reads them. Thread-safe but for `tiff`; never blocks.
absl::StatusOr<TiffSamples> ReadTiffSamples(TIFF* tiff);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_
