#ifndef FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_
#define FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_

#include <cstdint>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset {

struct ScanOptions {
  int threads = 1;                 // at least 1
  std::int64_t now_nanos = 0;      // wall clock, since the epoch
  std::uint64_t link_context = 0;  // see IndexParts
  std::stop_token stop;            // ends the scan before its end
};

// Indexes a folder of class folders with the semantics of
// torchvision.datasets.ImageFolder: the same classes, labels, samples and
// order. Files that cannot be read are samples too. Unlike there, a directory
// that cannot be listed, and a link that makes one lie within itself, are
// errors rather than left out or followed on and on.
//
// Blocks for the disk, until it is stopped at the longest. Errors name the
// path: those of ScanTree; NOT_FOUND without class folders, or where one has no
// image.
absl::StatusOr<std::shared_ptr<const Index>> ScanImageFolder(
    const storage::local::LocalRoot& root, const ScanOptions& options);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_IMAGE_FOLDER_H_
