#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline::transform {

// Turns pixels into elements. The bits written are the table's, on every CPU.
// Thread-safe; never blocks; no errors.

// Where elements go: into memory that is read next, or into a tensor, which is
// read when its whole batch is there. A batch of float32 is larger than the
// caches: it is better written past them, as then nothing that the decoder
// needs is driven out, and no line is read just to be overwritten. Of the
// narrower dtypes that gained nothing.
enum class Destination { kCache, kTensor };

// Writes `count` elements of table.dtype for the pixels of one color.
void ConvertRow(const ValueTable& table, std::size_t color,
                const std::uint8_t* pixels, std::size_t count,
                Destination destination, std::uint8_t* out);

// To be called after the last row of a tensor: other threads that learn of the
// tensor afterwards see all of it.
void FinishTensor();

// Mixes three rows of `count` elements of `size` bytes (1, 2 or 4) into one.
// The rows are aligned to their elements; `out` need not be.
void InterleaveRows(const std::uint8_t* const (&rows)[kColors],
                    std::size_t count, std::size_t size, std::uint8_t* out);

// The name of the vector instructions that this CPU lets us use: "AVX3_DL".
const char* VectorTarget();

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_CONVERT_H_
