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

// The classes of files. A file's class is the folder directly below the root in
// which the file lies. Classes are numbered in Python's order of their names.
//
// Immutable and thread-safe. Owns the names, and a reservation for them. Never
// blocks. Only Create has errors.
class FileClasses {
 public:
  FileClasses() = default;
  // Collects the classes of an index's files. The budget counts the names, and
  // outlives the FileClasses. INVALID_ARGUMENT, naming a file: the file does
  // not lie in a folder. RESOURCE_EXHAUSTED: the budget has no room.
  static absl::StatusOr<FileClasses> Create(const RecordIndex& index,
                                            base::MemoryBudget* budget);

  // Returns the names of the classes, by their numbers.
  const std::vector<std::string>& names() const { return names_; }
  // Returns the number of a file's class. `path` is the path of one of the
  // index's files.
  std::int64_t LabelOf(std::string_view path) const;

 private:
  FileClasses(std::vector<std::string> names, base::MemoryReservation memory)
      : names_(std::move(names)), memory_(std::move(memory)) {}

  std::vector<std::string> names_;
  base::MemoryReservation memory_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_FILE_CLASSES_H_
