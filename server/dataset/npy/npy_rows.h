#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::npy {

// The rows of a .npy file. Row i is the part of the array at index i of the
// first axis.
struct NpyRows {
  // Type and shape of one row, without the first axis.
  ArrayType type;
  // Bytes of one row; at least 1.
  std::uint64_t row_bytes = 0;
  // Number of rows, which is the extent of the first axis.
  std::uint64_t count = 0;
  // Bytes of the file before its first row.
  std::uint64_t data_offset = 0;

  bool operator==(const NpyRows&) const = default;
};

// Returns the rows of a file of `file_bytes` bytes. `start` is the beginning of
// the file and contains the whole header. DATA_LOSS: the file is not a .npy
// file, is damaged, or has another size than the header says. UNIMPLEMENTED:
// array::ReadNpyArray cannot read the array; or the array has no axis, more
// axes than a batch can have, or rows without elements. Errors give the reason
// alone. Thread-safe; never blocks.
absl::StatusOr<NpyRows> ReadNpyRows(absl::Span<const std::uint8_t> start,
                                    std::uint64_t file_bytes);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_ROWS_H_
