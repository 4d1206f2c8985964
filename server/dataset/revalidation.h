#ifndef FOREBAY_SERVER_DATASET_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_REVALIDATION_H_

#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset {

// Whether every directory of `index` is beneath `root` the very one that was
// scanned, with the same times: nothing was added, removed or renamed. Files
// that were changed in place do not show. Thread-safe; blocks for the disk, for
// one open a directory.
bool IsUnchanged(const storage::local::LocalRoot& root, const Index& index);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_REVALIDATION_H_
