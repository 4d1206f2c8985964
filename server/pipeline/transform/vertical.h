#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/taps.h"

namespace forebay::pipeline::transform {

// The vertical pass: position `y` of `taps`, of `bytes` (a multiple of
// kPlaneUnit) columns at once. Row r of the image starts at `first` +
// (r - taps.first) * stride. The result does not depend on the CPU.
// Thread-safe; never blocks; no errors.
void ResampleColumns(const std::uint8_t* first, std::size_t stride,
                     const Taps& taps, std::int64_t y, std::size_t bytes,
                     std::uint8_t* out);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_VERTICAL_H_
