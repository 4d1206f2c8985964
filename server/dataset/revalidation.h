#ifndef FOREBAY_SERVER_DATASET_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_REVALIDATION_H_

#include <stop_token>

#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset {

// Whether every directory of `index` is beneath `root` the very one that was
// scanned, with the same times: nothing was added, removed or renamed. Files
// that were changed in place do not show. Not known, and so false, where `stop`
// is requested before the end. Thread-safe; blocks for the disk, for one open a
// directory.
bool IsUnchanged(const storage::local::LocalRoot& root, const Index& index,
                 const std::stop_token& stop);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_REVALIDATION_H_
