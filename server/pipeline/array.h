#ifndef FOREBAY_SERVER_PIPELINE_ARRAY_H_
#define FOREBAY_SERVER_PIPELINE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/pipeline.h"

namespace forebay::pipeline {

// The array that a .npy file or an audio file holds. `items` points into the
// file, or to what was decoded of it.
struct Array {
  TensorType type;
  absl::Span<const std::uint8_t> items;
  std::uint32_t sample_rate = 0;  // Hz; 0: no audio
  // Where in the first axis `items` begin. Behind them there may be more that
  // nobody asks for: they are only a part of the array.
  std::uint64_t first = 0;
};

// Reads a whole .npy file of integers, booleans or real numbers, little-endian
// and in C order, of at most proto::kMaxRank - 1 dimensions. DATA_LOSS: it is
// no .npy file, or damaged; UNIMPLEMENTED: another type, order or number of
// dimensions. Errors give the reason alone. Thread-safe; never blocks.
absl::StatusOr<Array> ReadArray(absl::Span<const std::uint8_t> file);

// For people, as NumPy writes a type: "float32 (3, 5)"; or "float32 (n, 5)" if
// that axis may have any length.
std::string Describe(const TensorType& type,
                     std::optional<std::size_t> ragged_axis = std::nullopt);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_H_
