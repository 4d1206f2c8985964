#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/taps.h"

namespace forebay::pipeline::transform {

// Tables of the horizontal pass, made once per image, and its working memory.
struct RowPlan {
  const Taps* taps = nullptr;
  std::uint8_t* work = nullptr;
  bool permuted = false;  // work holds the tables of permuted_rows-inl.h
};

// The most bytes for each 16 positions that any vector code needs.
inline constexpr std::size_t kRowBlockBytes = 64 * 10;

constexpr std::size_t HorizontalWorkBytes(std::size_t length) {
  return PlanePitch(length) / 16 * kRowBlockBytes;
}

// Borrows both; `work` is HorizontalWorkBytes(taps.length) long and aligned to
// 64 bytes. Thread-safe; never blocks; no errors.
RowPlan PlanRows(const Taps& taps, std::uint8_t* work);

// The horizontal pass: `rows` rows of interleaved RGB, `stride` bytes apart,
// whose first pixel is taps.first of the image, become rows of three planes of
// taps.length pixels:
// plane c of row r starts at out + (r * 3 + c) * PlanePitch(taps.length); bytes
// behind the length are undefined. `out` is aligned to 64 bytes. 64 bytes
// behind the last row's last used pixel must be readable. The result does not
// depend on the CPU. Never blocks; no errors; one call at a time for a plan.
void ResampleRows(const RowPlan& plan, const std::uint8_t* rgb,
                  std::size_t stride, std::size_t rows, std::uint8_t* out);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
