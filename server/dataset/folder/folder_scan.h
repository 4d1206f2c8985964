#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_SCAN_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_SCAN_H_

#include <cstdint>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/folder/image_tree.h"
#include "server/storage/local/local_root.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::folder {

// How a folder is scanned.
struct ScanOptions {
  FolderKind kind = FolderKind::kImages;
  int threads = 1;                 // at least 1
  std::int64_t now_nanos = 0;      // wall-clock time since the Unix epoch
  std::uint64_t link_context = 0;  // see FolderIndexParts
  std::stop_token stop;            // ends the scan early
  // The budget that counts the memory of the scan and of the index. It outlives
  // the index.
  base::MemoryBudget* budget = nullptr;
};

// Indexes a folder of class folders with the semantics of
// torchvision.datasets.ImageFolder, or, for arrays, of its DatasetFolder: the
// same classes, labels, samples and order. Arrays directly in the folder come
// in the order of Python's sorted(). Files that cannot be read are samples,
// too. Two things are errors here: a directory that cannot be listed, which
// torchvision skips, and a link to a directory that contains the link, which
// torchvision follows forever.
//
// Blocks for the disk until it is done or stopped. Errors are those of ScanTree
// and BuildFolderIndex, and name the path. RESOURCE_EXHAUSTED: the budget has
// no room for the index.
absl::StatusOr<std::shared_ptr<const FolderIndex>> ScanFolder(
    const storage::local::LocalRoot& root, const ScanOptions& options);

// Indexes the objects below `root` as if they were files, and as if slashes in
// their names separated folders. Classes, labels, samples and order are those
// that ScanFolder finds in a folder with the same files. Names that end with a
// slash are ignored: some tools create such objects to stand for folders.
//
// Blocks for the network, but returns soon after `options.stop` is requested.
// Errors name the root. They are those of the lister and of BuildFolderIndex.
// INVALID_ARGUMENT: a name is too long. RESOURCE_EXHAUSTED: a folder has too
// many names, or the budget has no room.
absl::StatusOr<std::shared_ptr<const FolderIndex>> ListFolder(
    storage::ObjectLister& lister, const storage::Root& root,
    const ScanOptions& options);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_SCAN_H_
