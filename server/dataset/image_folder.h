#ifndef FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_
#define FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_

#include <cstdint>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

struct ScanOptions {
  int threads = 1;                 // at least 1
  std::int64_t now_nanos = 0;      // wall clock, since the epoch
  std::uint64_t link_context = 0;  // see IndexParts
  std::stop_token stop;            // ends the scan before its end
  // What the index, and the scan, are counted in; outlives the index.
  base::MemoryBudget* budget = nullptr;
};

// Indexes a folder of class folders with the semantics of
// torchvision.datasets.ImageFolder: the same classes, labels, samples and
// order. Files that cannot be read are samples too. Unlike there, a directory
// that cannot be listed, and a link that makes one lie within itself, are
// errors rather than left out or followed on and on.
//
// Blocks for the disk, until it is stopped at the longest. Errors name the
// path: those of ScanTree; RESOURCE_EXHAUSTED: the budget has no room for the
// index; NOT_FOUND without class folders, or where one has no
// image.
absl::StatusOr<std::shared_ptr<const Index>> ScanImageFolder(
    const storage::local::LocalRoot& root, const ScanOptions& options);

// Indexes the objects below `root` as if they were files, and slashes in their
// names made folders: the same content gives the same classes, labels, samples
// and order. Names that end with a slash, which some tools make to stand for
// folders, count for nothing.
//
// Blocks for the network, but not for long once it is stopped. Errors name the
// root: those of the lister; NOT_FOUND without class folders, or where one has
// no image; INVALID_ARGUMENT and RESOURCE_EXHAUSTED: too long a name, too many
// in a folder, or no room in the budget.
absl::StatusOr<std::shared_ptr<const Index>> ListImageFolder(
    storage::ObjectLister& lister, const storage::Root& root,
    const ScanOptions& options);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_
