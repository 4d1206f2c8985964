#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/taps.h"

namespace forebay::pipeline::transform {

// The tables of the horizontal pass, made once for each image, and working
// memory. Borrows the tables and the memory.
struct RowPlan {
  const Taps* taps = nullptr;
  // Working memory, of HorizontalWorkBytes bytes.
  std::uint8_t* work = nullptr;
  // Whether `work` holds the tables of permuted_rows-inl.h.
  bool permuted = false;
};

// The most bytes of working memory that any vector code needs for 16 positions.
inline constexpr std::size_t kRowBlockBytes = 64 * 10;

// Returns the number of bytes of working memory for `length` positions.
constexpr std::size_t HorizontalWorkBytes(std::size_t length) {
  return PlanePitch(length) / 16 * kRowBlockBytes;
}

// Makes a plan, which borrows `taps` and `work`. `work` has
// HorizontalWorkBytes(taps.length) bytes, and is aligned to 64 bytes.
// Thread-safe; never blocks; no errors.
RowPlan PlanRows(const Taps& taps, std::uint8_t* work);

// Runs the horizontal pass. `rgb` has `rows` rows of interleaved RGB, `stride`
// bytes apart. The first pixel of each row is pixel number taps.first of the
// image's row. Each row becomes three planes of taps.length pixels.
//
// Plane c of row r starts at out + (r * 3 + c) * PlanePitch(taps.length). The
// bytes of a plane behind its taps.length pixels are undefined. `out` is
// aligned to 64 bytes. The 64 bytes behind the last row's last used pixel must
// be readable. The result does not depend on the CPU. Never blocks; no errors.
// A plan serves one call at a time.
void ResampleRows(const RowPlan& plan, const std::uint8_t* rgb,
                  std::size_t stride, std::size_t rows, std::uint8_t* out);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
