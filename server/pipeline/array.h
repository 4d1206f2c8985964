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

// An array in memory: the content of a .npy or TIFF file, or a decoded clip.
// `items` borrows the bytes of that file, or of the workspace that decoded it.
struct Array {
  TensorType type;
  absl::Span<const std::uint8_t> items;
  // Samples per second of a clip; 0 if the array is not audio.
  std::uint32_t sample_rate = 0;
  // Index in the first axis at which `items` begins. If `items` is only a part
  // of the array, no caller reads indices before `first` or behind the last
  // item.
  std::uint64_t first = 0;
};

// Reads a whole .npy file: integers, booleans or real numbers, little-endian
// and in C order, of at most proto::kMaxRank - 1 dimensions. The result borrows
// `file`. DATA_LOSS: the bytes are not a .npy file, or are damaged.
// UNIMPLEMENTED: the array has another type, order or number of dimensions. An
// error's message has only the reason, without the file's name. Thread-safe;
// never blocks.
absl::StatusOr<Array> ReadArray(absl::Span<const std::uint8_t> file);

// Describes a type for people, as NumPy writes it: "float32 (3, 5)". The length
// of the ragged axis is written as n: "float32 (n, 5)".
std::string Describe(const TensorType& type,
                     std::optional<std::size_t> ragged_axis = std::nullopt);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_H_
