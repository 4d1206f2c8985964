#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/taps.h"

namespace forebay::pipeline::transform {

// The horizontal pass: `rows` rows of interleaved RGB, `stride` bytes apart,
// whose first pixel is taps.first of the image, become rows of three planes of
// taps.length pixels:
// plane c of row r starts at out + (r * 3 + c) * PlanePitch(taps.length); bytes
// behind the length are undefined. 64 bytes behind the last row's last used
// pixel must be readable. `work` is HorizontalWorkBytes() long. The result does
// not depend on the CPU. Thread-safe; never blocks; no errors.
void ResampleRows(const std::uint8_t* rgb, std::size_t stride, std::size_t rows,
                  const Taps& taps, std::uint8_t* work, std::uint8_t* out);

constexpr std::size_t HorizontalWorkBytes(std::size_t length) {
  return PlanePitch(length) * 4 * 4;
}

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_HORIZONTAL_H_
