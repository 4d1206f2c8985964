#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_ROWS_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_ROWS_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npz {

// The rows of .npz files that LoadNpzRows reads, and how it reads them.
struct NpzRowsSource {
  std::shared_ptr<const storage::Root> root;
  // Names of the arrays; if empty, all arrays that have rows.
  std::vector<std::string> names;
  storage::ByteSource* source = nullptr;
  // The budget that counts the memory of the rows. The budget outlives the
  // dataset.
  base::MemoryBudget* budget = nullptr;
  // The largest array is read row by row if it is stored and has at least this
  // many bytes in the first file. All other arrays are loaded into memory.
  std::uint64_t least_stored = std::uint64_t{1} << 26;
  std::stop_token stop;
};

// Reads the arrays of all files into memory, which the dataset owns. Sample i
// has row i of each array; rows are counted over all files in their order.
//
// The largest array stays in the files if it is stored and long enough; its
// rows are the samples' extents. Only one array can stay, because a sample has
// a single extent, and the rows of several arrays lie apart. A deflated array
// cannot stay, because it can only be decompressed from its start.
//
// Adds a sentence to `warnings` for each array of the first file that is left
// out. Blocks for the reads, but returns soon after `source.stop` is requested.
// Errors name the root and the file: those of NpzReader and ReadNpyRows.
// INVALID_ARGUMENT: an array is missing; arrays of one file differ in their
// rows; an array has another type than in the first file; or the largest array
// is stored in the first file but not in this one. UNIMPLEMENTED: no array has
// rows. Two errors name the root alone. RESOURCE_EXHAUSTED: the budget has no
// room. CANCELLED: the stop was requested.
absl::StatusOr<std::shared_ptr<const Dataset>> LoadNpzRows(
    const NpzRowsSource& source, absl::Span<const storage::ListedObject> files,
    std::vector<std::string>* warnings);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_ROWS_H_
