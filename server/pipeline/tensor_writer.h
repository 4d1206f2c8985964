#ifndef FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_
#define FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/program.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline {

// Turns rows of pixels into elements of the slot, normalised, in its dtype and
// layout.
// Not thread-safe. Borrows everything it is given. Does not block. Create fails
// with RESOURCE_EXHAUSTED: that of the Scratch.
class TensorWriter final : public transform::RowTarget {
 public:
  // `out` is exactly one tensor of `program`. `view` is to be rendered.
  static absl::StatusOr<TensorWriter> Create(const Program& program,
                                             const transform::View& view,
                                             transform::Scratch& scratch,
                                             absl::Span<std::uint8_t> out);

  void Row(std::int64_t y,
           std::uint8_t* const (&planes)[transform::kColors]) override;

 private:
  TensorWriter(const Program& program, const transform::View& view,
               absl::Span<std::uint8_t> out);

  std::uint8_t* RowOf(std::int64_t y, std::size_t channel) const;
  void PaintLateFills(std::int64_t y);

  const Program& program_;
  const transform::View& view_;
  const absl::Span<std::uint8_t> out_;
  const std::size_t channels_;
  const std::size_t element_bytes_;
  const std::size_t width_;
  bool late_fills_ = false;
  // Converted rows that wait to be interleaved; null if not needed.
  std::array<std::uint8_t*, transform::kColors> rows_{};
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TENSOR_WRITER_H_
