#ifndef FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_
#define FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/image/program.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline {

// Turns rows of pixels into normalised elements, and writes these into the
// slot, in the slot's type and layout. Not thread-safe. Borrows all arguments
// of Create. Never blocks. Create fails with RESOURCE_EXHAUSTED if `scratch`
// has too little memory.
class TensorWriter final : public transform::RowTarget {
 public:
  // Makes a writer for `view`. `out` is the place of exactly one output tensor
  // of `program`.
  static absl::StatusOr<TensorWriter> Create(const image::Program& program,
                                             const transform::View& view,
                                             transform::Scratch& scratch,
                                             absl::Span<std::uint8_t> out);

  void Row(std::int64_t y,
           std::uint8_t* const (&planes)[transform::kColors]) override;

 private:
  // Borrows all arguments; `rows_` is null until Create sets it.
  TensorWriter(const image::Program& program, const transform::View& view,
               absl::Span<std::uint8_t> out);

  // Returns where row `y` of a channel begins in the slot.
  std::uint8_t* RowOf(std::int64_t y, std::size_t channel) const;
  // Overwrites the elements of row `y` that show a late fill.
  void PaintLateFills(std::int64_t y);

  const image::Program& program_;
  const transform::View& view_;
  const absl::Span<std::uint8_t> out_;
  const std::size_t channels_;
  const std::size_t element_bytes_;
  const std::size_t width_;
  // Whether any element may show a late fill (Fill::late).
  bool late_fills_ = false;
  // Converted rows of the three channels, before they are interleaved. Null if
  // the layout has channels first, or the image has one channel.
  std::array<std::uint8_t*, transform::kColors> rows_{};
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_
