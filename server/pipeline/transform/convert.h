#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline::transform {

// Turns pixels into elements. The bits are the table's, on every CPU.
// Thread-safe; never blocks; no errors.
// Stores past the caches write a tensor alone 10 % faster. After a decoder,
// which leaves the memory time, they gain nothing.

// Writes `count` elements of table.dtype for the pixels of one color.
void ConvertRow(const ValueTable& table, std::size_t color,
                const std::uint8_t* pixels, std::size_t count,
                std::uint8_t* out);

// Mixes three rows of `count` elements of `size` bytes (1, 2 or 4) into one.
// The rows are aligned to their elements; `out` need not be.
void InterleaveRows(const std::uint8_t* const (&rows)[kColors],
                    std::size_t count, std::size_t size, std::uint8_t* out);

// The name of the vector instructions in use: "AVX3_DL".
const char* VectorTarget();

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
