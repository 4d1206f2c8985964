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

// Indexes of zip archives on disk, one file a dataset (own_file.h), in a
// directory that only the daemon's user may write. An index is of use only
// while the archives have the versions that it has. Immutable and thread-safe.
// All calls block for the disk; their errors name the file.
class ZipIndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes.
  ZipIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".zips", budget) {}

  // `dataset`, any text, tells datasets apart. NOT_FOUND: there is none, or it
  // is of other archives or versions. DATA_LOSS: it is damaged or of another
  // version of the format. PERMISSION_DENIED: the file belongs to another user.
  // RESOURCE_EXHAUSTED: the budget has no room for it. Others: the disk's.
  absl::StatusOr<std::shared_ptr<const ZipIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> archives) const;

  // Errors as Load's; on failure the former index is still there.
  absl::Status Save(std::string_view dataset, const ZipIndex& index) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_STORE_H_
