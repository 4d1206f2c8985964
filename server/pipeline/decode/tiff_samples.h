#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_

#include <tiffio.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace forebay::pipeline::decode {

// The layout of an image's samples as libtiff gives them, and the way in which
// they become the RGB pixels of Pillow's convert("RGB").
struct TiffSamples {
  // How samples become RGB.
  enum class Kind {
    // Gray or a palette index, of `bits` bits, which `table` turns into RGB.
    kTable,
    // Gray of 16 bits, clipped at 255.
    kGray16,
    // Colors of 8 or 16 bits, of which the high 8 bits are kept.
    kRgb,
  };

  Kind kind = Kind::kRgb;
  // Bits of a sample.
  std::uint32_t bits = 8;
  // Samples of a pixel in the file.
  std::uint32_t channels = 3;
  // Whether each channel is stored as a plane of its own; its samples then have
  // 8 bits.
  bool planar = false;
  // RGB color of each gray or index, for kTable.
  std::array<std::array<std::uint8_t, 3>, 256> table{};

  // Returns the size in bytes of a row of pixels. If `planar`, returns the size
  // of one channel of a row.
  std::uint64_t RowBytes(std::uint32_t width) const {
    return (std::uint64_t{width} * (planar ? 1 : channels) * bits + 7) / 8;
  }

  // Writes `count` pixels of a row, from pixel `first` on, as RGB. Not for
  // planar images.
  void ToRgb(const std::uint8_t* row, std::uint32_t first, std::uint32_t count,
             std::uint8_t* rgb) const;
};

// Reads the tags that describe samples. DATA_LOSS: samples of this kind are not
// supported; the error names the kind. May be called on several threads at once
// for different files. Never blocks.
absl::StatusOr<TiffSamples> ReadTiffSamples(TIFF* tiff);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_SAMPLES_H_
