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

// Which rows of .npz files to read, and how.
struct NpzRowsSource {
  std::shared_ptr<const storage::Root> root;
  std::vector<std::string> names;  // of the arrays; none: all that have rows
  storage::ByteSource* source = nullptr;
  base::MemoryBudget* budget = nullptr;  // outlives the dataset
  // An array of so many bytes in the first file is read row by row if it is
  // stored. Others are in memory.
  std::uint64_t least_stored = std::uint64_t{1} << 26;
  std::stop_token stop;
};

// Reads the arrays of all files into memory, which the dataset owns: sample i
// has row i of each array, of all files one behind the other. Deflated arrays
// can be read from their start only, and the rows of several lie apart, but a
// sample is one extent. So only the largest array stays in the files, if it is
// stored and large. Adds to `warnings`, a sentence each, which arrays of the
// first file are left out.
//
// Blocks for the reads, but returns soon after its stop is requested. Errors
// name the root and the file: those of NpzReader and ReadNpyRows;
// INVALID_ARGUMENT: an array lacks, arrays of one file differ in their rows, or
// those of two files in their type, or the largest is stored in the first file
// only; UNIMPLEMENTED: there is no array of rows. Errors that name the root
// alone: RESOURCE_EXHAUSTED: the budget has no room; CANCELLED: stopped.
absl::StatusOr<std::shared_ptr<const Dataset>> LoadNpzRows(
    const NpzRowsSource& source, absl::Span<const storage::ListedObject> files,
    std::vector<std::string>* warnings);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_ROWS_H_
