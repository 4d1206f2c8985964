#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline::transform {

// Turns pixels into elements. The elements have the bits of the value table on
// every CPU. Functions are thread-safe, never block and have no errors.
//
// Stores go through the caches. If nothing else runs, non-temporal stores write
// a tensor 10 % faster. Behind a decoder they gain nothing, because decoding
// leaves the memory idle.

// Writes `count` elements of table.dtype for the pixels of one color. `out`
// need not be aligned.
void ConvertRow(const ValueTable& table, std::size_t color,
                const std::uint8_t* pixels, std::size_t count,
                std::uint8_t* out);

// Interleaves three rows of `count` elements of `size` bytes (1, 2 or 4) into
// one. The rows are aligned to their elements; `out` need not be.
void InterleaveRows(const std::uint8_t* const (&rows)[kColors],
                    std::size_t count, std::size_t size, std::uint8_t* out);

// Returns the name of the vector instructions in use, such as "AVX3_DL".
const char* VectorTarget();

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
