#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index_store.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Indexes of records on disk, one file a dataset (own_file.h), in a directory
// that only the daemon's user may write. An index is of use only while the
// files have the versions that it has. Immutable and thread-safe. All calls
// block for the disk; their errors name the file.
class RecordIndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes.
  RecordIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".records", budget) {}

  // `dataset`, any text, tells datasets apart. NOT_FOUND: there is none, or it
  // is of other files or versions. DATA_LOSS: it is damaged or of another
  // version of the format. PERMISSION_DENIED: the file belongs to another user.
  // RESOURCE_EXHAUSTED: the budget has no room for it. Others: the disk's.
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> files) const;

  // Errors as Load's; on failure the former index is still there.
  absl::Status Save(std::string_view dataset, const RecordIndex& index) const;

  // Where the access points of its compressed files are kept. They are written
  // before the index is. Empty: nowhere, for the directory does not answer.
  std::string PointsPathOf(std::string_view dataset) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_STORE_H_
