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

// Saves indexes of records on disk, each in a file of its own (own_file.h), in
// a directory that only the daemon's user may write. A saved index is usable
// only while the files have the versions that it records.
//
// Immutable and thread-safe. Owns no index. All calls block for the disk; their
// errors name the file.
class RecordIndexStore {
 public:
  // The first write creates `directory`, which only its owner may use. The
  // budget outlives the store and the indexes.
  RecordIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".records", budget) {}

  // Loads the index of `files`. `dataset` is any text that tells datasets
  // apart. NOT_FOUND: there is no index, or it is of other files, or of other
  // versions of these. DATA_LOSS: the file is damaged, or has another version
  // of the file format. PERMISSION_DENIED: the file belongs to another user.
  // RESOURCE_EXHAUSTED: the budget has no room for the index. Others: errors of
  // the disk.
  absl::StatusOr<std::shared_ptr<const RecordIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> files) const;

  // Saves an index. The errors are those of Load. If saving fails, the old
  // index stays.
  absl::Status Save(std::string_view dataset, const RecordIndex& index) const;

  // Returns the path of the file that keeps the access points of compressed
  // files. This file is written before the index. Returns an empty path if the
  // disk does not answer.
  std::string PointsPathOf(std::string_view dataset) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_STORE_H_
