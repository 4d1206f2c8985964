#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/taps.h"

namespace forebay::pipeline::transform {

// Runs the vertical pass for one output row: computes position `y` of `taps`
// into `out`. A row has three planes of `width` pixels, PlanePitch(width) bytes
// apart; the bytes of a plane behind its pixels are undefined. Row r of the
// input starts at first + (r - taps.first) * stride. All rows are aligned to 64
// bytes. The result does not depend on the CPU. Thread-safe; never blocks; no
// errors.
void ResampleColumns(const std::uint8_t* first, std::size_t stride,
                     const Taps& taps, std::int64_t y, std::size_t width,
                     std::uint8_t* out);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_
