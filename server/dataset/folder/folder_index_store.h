#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_STORE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/folder_probe.h"

namespace forebay::dataset::folder {

// Names the root whose index it is.
struct FolderKey {
  std::uint64_t device = 0;  // of the dataset's root directory, as inode
  std::uint64_t inode = 0;
  std::uint32_t format = 0;  // a proto::DatasetSpec::Format

  friend auto operator<=>(const FolderKey&, const FolderKey&) = default;
};

// Indexes on disk, one file a key (own_file.h), in a directory that only the
// daemon's user may write. Thread-safe. All calls block for the disk, but do
// not begin if that does not answer (folder_probe.h, UNAVAILABLE). Errors name
// the file or the directory.
class FolderIndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes.
  FolderIndexStore(std::string directory, base::MemoryBudget* budget)
      : directory_(std::move(directory)), budget_(budget), probe_(directory_) {}

  // NOT_FOUND: there is none. DATA_LOSS: it is damaged or of another version.
  // PERMISSION_DENIED: the file belongs to another user. RESOURCE_EXHAUSTED:
  // the budget has no room for it. Others: the disk's.
  absl::StatusOr<std::shared_ptr<const FolderIndex>> Load(
      const FolderKey& key) const;

  // Errors as Load's; on failure the former index is still there. Else the
  // folder is trimmed (index_folder.h).
  absl::Status Save(const FolderKey& key, const FolderIndex& index) const;

  // Succeeds, too, if there is none.
  absl::Status Remove(const FolderKey& key) const;

 private:
  std::string PathOf(const FolderKey& key) const;

  const std::string directory_;
  base::MemoryBudget* const budget_;
  const FolderProbe probe_;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_STORE_H_
