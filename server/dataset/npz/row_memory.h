#ifndef FOREBAY_SERVER_DATASET_NPZ_ROW_MEMORY_H_
#define FOREBAY_SERVER_DATASET_NPZ_ROW_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/base/sealed_memory.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::npz {

// The rows of one array, one after the other.
struct RowColumn {
  // The first byte of the first row; outlives the call that takes the column.
  const std::uint8_t* rows = nullptr;
  std::uint64_t row_bytes = 0;
};

// Shared memory that is filled with the rows of several arrays, interleaved:
// the first row of each array, then the second row of each, and so on. The
// sealed memory has the layout that MemoryRecordLayout describes.
//
// Used by one thread. Owns the memory until it is sealed. Does not wait for
// anything but the kernel. Errors: RESOURCE_EXHAUSTED: the budget or the host
// has no room.
class RowMemory {
 public:
  // Creates an empty memory file. The budget outlives this object and the
  // sealed memory.
  explicit RowMemory(base::MemoryBudget* budget);

  // Appends `count` rows of each column. A row of all columns together has at
  // least one byte.
  absl::Status Append(absl::Span<const RowColumn> columns, std::uint64_t count);
  // Seals the memory, so that nobody can write it any more, and maps it. Must
  // be called once, after the last Append.
  absl::StatusOr<std::shared_ptr<const base::SealedMemory>> Seal();

 private:
  // Writes all bytes to the end of the file.
  absl::Status Write(absl::Span<const std::uint8_t> bytes);

  base::WorkingMemory memory_;
  base::Fd fd_;
  // Bytes that the file has.
  std::uint64_t written_ = 0;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_ROW_MEMORY_H_
