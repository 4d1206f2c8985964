#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index_store.h"
#include "server/dataset/zip/zip_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// Saves indexes of zip archives on disk, each in a file of its own
// (own_file.h), in a directory that only the daemon's user may write. A saved
// index is usable only while the archives have the versions that it records.
//
// Immutable and thread-safe. Owns no index. All calls block for the disk; their
// errors name the file.
class ZipIndexStore {
 public:
  // The first write creates `directory`, which only its owner may use. The
  // budget outlives the store and the indexes.
  ZipIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".zips", budget) {}

  // Loads the index of `archives`. `dataset` is any text that tells datasets
  // apart. NOT_FOUND: there is no index, or the index has other archives or
  // versions. DATA_LOSS: the file is damaged, or of another version of the
  // format. PERMISSION_DENIED: the file belongs to another user.
  // RESOURCE_EXHAUSTED: the budget has no room for the index. Other errors:
  // those of the disk.
  absl::StatusOr<std::shared_ptr<const ZipIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> archives) const;

  // Saves an index. The errors are those of Load. On failure, the former index
  // is still there.
  absl::Status Save(std::string_view dataset, const ZipIndex& index) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_STORE_H_
