// Turns regions. An orientation means up to two mirrorings of the stored image,
// and then perhaps a transposition. To find where a region of the turned image
// lies in the stored image, the steps are undone in reverse: transposition
// first, then mirroring.

#include "server/pipeline/decode/turned_rows.h"

#include <algorithm>
#include <cstring>

namespace forebay::pipeline::decode {
namespace {

constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kColors = 3;

// Returns where a span of an axis begins after the axis is mirrored, if
// `mirrored`. The axis has `size` pixels, and the span has `length` pixels from
// `begin` on.
std::uint32_t Mirrored(bool mirrored, std::uint32_t size, std::uint32_t begin,
                       std::uint32_t length) {
  return mirrored ? size - begin - length : begin;
}

}  // namespace

// EXIF orientation 1 is the image as stored, 2 is mirrored left to right, 3 is
// half a turn, and 4 is mirrored top to bottom. Orientations 5 to 8 also
// exchange rows and columns.
Rotation TurnOf(std::uint32_t orientation) {
  const bool transposed = orientation >= 5 && orientation <= 8;
  switch (orientation) {
    case 2:
    case 8:
      return {true, false, transposed};
    case 3:
    case 7:
      return {true, true, transposed};
    case 4:
    case 6:
      return {false, true, transposed};
    default:
      return {false, false, transposed};
  }
}

Region StoredRegion(const Rotation& turn, std::uint32_t width,
                    std::uint32_t height, const Region& turned) {
  Region stored = turned;
  if (turn.transposed) {
    stored = {turned.top, turned.left, turned.height, turned.width};
  }
  stored.left = Mirrored(turn.left_right, width, stored.left, stored.width);
  stored.top = Mirrored(turn.top_bottom, height, stored.top, stored.height);
  return stored;
}

std::uint64_t TurnedBytes(std::uint32_t width, std::uint32_t height) {
  return kColors * width * (std::uint64_t{height} + kStripRows) + kStripPadding;
}

TurnedRows::TurnedRows(const Rotation& turn, const Region& stored,
                       std::vector<std::uint8_t>& pixels)
    : turn_(turn),
      width_(stored.width),
      height_(stored.height),
      pixels_(pixels) {
  pixels_.resize(kColors * width_ * height_);
}

void TurnedRows::Rows(std::uint32_t first_row, std::uint32_t count,
                      const std::uint8_t* rgb, std::size_t stride_bytes) {
  const std::size_t row_bytes = kColors * width_;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(pixels_.data() + (first_row + i) * row_bytes,
                rgb + i * stride_bytes, row_bytes);
  }
}

void TurnedRows::TurnStrip(std::uint32_t first, std::uint32_t count,
                           std::uint8_t* strip) const {
  const std::size_t row_bytes = kColors * width_;
  if (turn_.transposed) {
    // The strip's rows are `count` neighbouring columns of the stored region.
    const std::size_t stride = kColors * height_;
    for (std::uint32_t x = 0; x < height_; ++x) {
      const std::uint8_t* const row =
          pixels_.data() +
          Mirrored(turn_.top_bottom, height_, x, 1) * row_bytes;
      for (std::uint32_t y = 0; y < count; ++y) {
        std::memcpy(
            strip + y * stride + x * kColors,
            row + kColors * Mirrored(turn_.left_right, width_, first + y, 1),
            kColors);
      }
    }
    return;
  }
  for (std::uint32_t y = 0; y < count; ++y) {
    const std::uint8_t* const row =
        pixels_.data() +
        Mirrored(turn_.top_bottom, height_, first + y, 1) * row_bytes;
    std::uint8_t* rgb = strip + y * row_bytes;
    for (std::uint32_t x = 0; x < width_; ++x, rgb += kColors) {
      std::memcpy(rgb, row + kColors * Mirrored(turn_.left_right, width_, x, 1),
                  kColors);
    }
  }
}

void TurnedRows::HandOn(RowSink& sink) const {
  const std::uint32_t width = turn_.transposed ? height_ : width_;
  const std::uint32_t height = turn_.transposed ? width_ : height_;
  const std::size_t stride = kColors * width;
  std::vector<std::uint8_t> strip(kStripRows * stride + kStripPadding);
  for (std::uint32_t done = 0; done < height; done += kStripRows) {
    const std::uint32_t count = std::min(kStripRows, height - done);
    TurnStrip(done, count, strip.data());
    sink.Rows(done, count, strip.data(), stride);
  }
}

}  // namespace forebay::pipeline::decode
