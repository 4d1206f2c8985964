#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index_store.h"
#include "server/dataset/npy/npy_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npy {

// Indexes of .npy files on disk, one file a dataset (own_file.h), in a
// directory that only the daemon's user may write. An index is of use only
// while the files have the versions that it has. Immutable and thread-safe. All
// calls block for the disk; their errors name the file.
class NpyIndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes.
  NpyIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".npys", budget) {}

  // `dataset`, any text, tells datasets apart. NOT_FOUND: there is none, or it
  // is of other files or versions. DATA_LOSS: it is damaged or of another
  // version of the format. PERMISSION_DENIED: the file belongs to another user.
  // RESOURCE_EXHAUSTED: the budget has no room for it. Others: the disk's.
  absl::StatusOr<std::shared_ptr<const NpyIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> files) const;

  // Errors as Load's; on failure the former index is still there.
  absl::Status Save(std::string_view dataset, const NpyIndex& index) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_STORE_H_
