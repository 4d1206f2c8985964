#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::npy {

// The rows of a .npy file: what its array has at each index of the first axis.
struct NpyRows {
  ArrayType type;                 // of one row
  std::uint64_t row_bytes = 0;    // at least 1
  std::uint64_t count = 0;        // rows
  std::uint64_t data_offset = 0;  // bytes before the first row

  bool operator==(const NpyRows&) const = default;
};

// Returns the rows of a file of `file_bytes` that begins with `start`, where
// all of its header must lie. DATA_LOSS: it is no .npy file, or damaged, or its
// size is not what the header says. UNIMPLEMENTED: array::ReadNpyArray says so;
// or it has no first axis, too many axes, or rows without elements. Errors give
// the reason alone. Thread-safe; never blocks.
absl::StatusOr<NpyRows> ReadNpyRows(absl::Span<const std::uint8_t> start,
                                    std::uint64_t file_bytes);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_
