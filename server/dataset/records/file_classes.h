#ifndef FOREBAY_SERVER_DATASET_RECORDS_FILE_CLASSES_H_
#define FOREBAY_SERVER_DATASET_RECORDS_FILE_CLASSES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/record_index.h"

namespace forebay::dataset::records {

// The classes of files: the folders in the root that they lie in, in the order
// of their names. Immutable and thread-safe; never blocks.
class FileClasses {
 public:
  FileClasses() = default;
  // Those of an index's files. Holds a reservation for their names, of the
  // budget, which outlives it. INVALID_ARGUMENT: a file lies in no folder; the
  // error names it. RESOURCE_EXHAUSTED: the budget has no room.
  static absl::StatusOr<FileClasses> Create(const RecordIndex& index,
                                            base::MemoryBudget* budget);

  const std::vector<std::string>& names() const { return names_; }
  // The number of the class of a file, which is one of the index's.
  std::int64_t LabelOf(std::string_view path) const;

 private:
  FileClasses(std::vector<std::string> names, base::MemoryReservation memory)
      : names_(std::move(names)), memory_(std::move(memory)) {}

  std::vector<std::string> names_;
  base::MemoryReservation memory_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_FILE_CLASSES_H_
