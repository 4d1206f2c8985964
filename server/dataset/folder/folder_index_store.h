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

// Identifies an index by its root directory and the kind of its samples.
struct FolderKey {
  std::uint64_t device = 0;  // device of the root directory
  std::uint64_t inode = 0;   // inode of the root directory
  std::uint32_t format = 0;  // the `format` of DecodeFolderIndex

  friend auto operator<=>(const FolderKey&, const FolderKey&) = default;
};

// Saves indexes of folders on disk, each in a file of its own (own_file.h), in
// a directory that only the daemon's user may write.
//
// Thread-safe. Owns no index. All calls block for the disk. Each call first
// checks that the disk answers (folder_probe.h), and fails with UNAVAILABLE if
// it does not. Errors name the file or the directory.
class FolderIndexStore {
 public:
  // The first write creates `directory`, which only its owner may use. The
  // budget outlives the store and the indexes.
  FolderIndexStore(std::string directory, base::MemoryBudget* budget)
      : directory_(std::move(directory)), budget_(budget), probe_(directory_) {}

  // Loads an index. NOT_FOUND: there is no such index. DATA_LOSS: the file is
  // damaged, or has another version of the file format. PERMISSION_DENIED: the
  // file belongs to another user. RESOURCE_EXHAUSTED: the budget has no room
  // for the index. Others: errors of the disk.
  absl::StatusOr<std::shared_ptr<const FolderIndex>> Load(
      const FolderKey& key) const;

  // Saves an index, and then trims the directory (index_folder.h). The errors
  // are those of Load. If saving fails, the old index stays.
  absl::Status Save(const FolderKey& key, const FolderIndex& index) const;

  // Removes an index. Also succeeds if there is no such index.
  absl::Status Remove(const FolderKey& key) const;

 private:
  // Returns the path of a key's file.
  std::string PathOf(const FolderKey& key) const;

  const std::string directory_;
  base::MemoryBudget* const budget_;
  const FolderProbe probe_;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_STORE_H_
