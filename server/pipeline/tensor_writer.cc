// Writes rendered rows into the slot. With channels first, each plane's row is
// converted straight to its place. With channels last, the three rows are
// converted in scratch memory, and interleaved into the slot. Late fills are
// elements, not pixels. They are written last, over the elements that the
// conversion made at their positions.

#include "server/pipeline/tensor_writer.h"

#include <cstring>

#include "server/base/status.h"
#include "server/pipeline/transform/convert.h"

namespace forebay::pipeline {

using transform::kColors;

TensorWriter::TensorWriter(const image::Program& program,
                           const transform::View& view,
                           absl::Span<std::uint8_t> out)
    : program_(program),
      view_(view),
      out_(out),
      channels_(static_cast<std::size_t>(program.channels)),
      element_bytes_(proto::SizeOf(program.table.dtype)),
      width_(static_cast<std::size_t>(program.extent.width)) {
  if (!view.x.has_fill() && !view.y.has_fill()) return;
  for (const image::Fill& fill : program.fills) late_fills_ |= fill.late;
}

absl::StatusOr<TensorWriter> TensorWriter::Create(
    const image::Program& program, const transform::View& view,
    transform::Scratch& scratch, absl::Span<std::uint8_t> out) {
  TensorWriter writer(program, view, out);
  if (!program.channels_last || writer.channels_ == 1) return writer;
  for (std::uint8_t*& row : writer.rows_) {
    FOREBAY_ASSIGN_OR_RETURN(
        row, scratch.Allocate<std::uint8_t>(
                 writer.width_ * writer.element_bytes_, "interleaving"));
  }
  return writer;
}

// With channels last, all channels share one row.
std::uint8_t* TensorWriter::RowOf(std::int64_t y, std::size_t channel) const {
  const auto row = static_cast<std::size_t>(y);
  const auto height = static_cast<std::size_t>(program_.extent.height);
  const std::size_t at = rows_[0] != nullptr
                             ? row * width_ * channels_
                             : (channel * height + row) * width_;
  return out_.data() + at * element_bytes_;
}

void TensorWriter::Row(std::int64_t y, std::uint8_t* const (&planes)[kColors]) {
  const bool interleave = rows_[0] != nullptr;
  for (std::size_t c = 0; c < channels_; ++c) {
    transform::ConvertRow(program_.table, c, planes[c], width_,
                          interleave ? rows_[c] : RowOf(y, c));
  }
  if (interleave) {
    const std::uint8_t* rows[kColors] = {rows_[0], rows_[1], rows_[2]};
    transform::InterleaveRows(rows, width_, element_bytes_, RowOf(y, 0));
  }
  if (late_fills_) PaintLateFills(y);
}

void TensorWriter::PaintLateFills(std::int64_t y) {
  for (std::size_t x = 0; x < width_; ++x) {
    const std::int64_t number =
        transform::FillAt(view_, static_cast<std::int64_t>(x), y);
    if (number < 0) continue;
    const image::Fill& fill = program_.fills[static_cast<std::size_t>(number)];
    if (!fill.late) continue;
    for (std::size_t c = 0; c < channels_; ++c) {
      const std::size_t at = rows_[0] != nullptr ? x * channels_ + c : x;
      // The element is in the word's low bytes, which come first on a
      // little-endian CPU.
      std::memcpy(RowOf(y, c) + at * element_bytes_, &fill.element[c],
                  element_bytes_);
    }
  }
}

}  // namespace forebay::pipeline
