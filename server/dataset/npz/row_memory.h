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

// The rows of one array, one behind the other.
struct Column {
  const std::uint8_t* rows = nullptr;
  std::uint64_t row_bytes = 0;
};

// Shared memory that is filled with rows of several arrays: first the first row
// of each, then the second of each. Used by one thread; owns the memory; never
// blocks. Errors: RESOURCE_EXHAUSTED: the budget or the host has no room.
class RowMemory {
 public:
  // The budget outlives it, and the memory that it makes.
  explicit RowMemory(base::MemoryBudget* budget);

  // Appends `count` rows of each column.
  absl::Status Append(absl::Span<const Column> columns, std::uint64_t count);
  // To be called once, at the end.
  absl::StatusOr<std::shared_ptr<const base::SealedMemory>> Seal();

 private:
  absl::Status Write(absl::Span<const std::uint8_t> bytes);

  base::WorkingMemory memory_;
  base::Fd fd_;
  std::uint64_t written_ = 0;  // bytes
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_ROW_MEMORY_H_
