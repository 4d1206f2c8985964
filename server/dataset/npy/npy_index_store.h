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

// Saves the indexes of datasets of .npy files on disk, one file for each
// dataset (own_file.h). Only the daemon's user may write to the directory of
// these files. A saved index is used only while the dataset's files have the
// versions that the index lists.
//
// Immutable and thread-safe. Owns nothing but its settings. All calls block for
// the disk; their errors name the index file.
class NpyIndexStore {
 public:
  // Keeps indexes in `directory`. The first write creates `directory` so that
  // only its owner may use it. The budget outlives the store and the indexes.
  NpyIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".npys", budget) {}

  // Loads the index of the dataset that the text `dataset` identifies.
  // NOT_FOUND: the store has no index of this dataset, or has one of other
  // files or other versions. DATA_LOSS: the saved index is damaged or of
  // another version of the format. PERMISSION_DENIED: the index file belongs to
  // another user. RESOURCE_EXHAUSTED: the budget has no room for the index.
  // Other errors are those of the disk.
  absl::StatusOr<std::shared_ptr<const NpyIndex>> Load(
      std::string_view dataset,
      absl::Span<const storage::ListedObject> files) const;

  // Saves the index of a dataset in place of an earlier one, which stays if the
  // call fails. Errors are those of Load, except for NOT_FOUND and DATA_LOSS.
  absl::Status Save(std::string_view dataset, const NpyIndex& index) const;

 private:
  const IndexStore files_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_STORE_H_
