#ifndef FOREBAY_SERVER_DATASET_OBJECT_LISTING_H_
#define FOREBAY_SERVER_DATASET_OBJECT_LISTING_H_

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// Calls `take` with every object below `root`, one at a time, until `take`
// fails. Thread-safe. Blocks for the network, but returns soon after `stop` is
// requested. Errors: those of `take` and of the lister.
absl::Status TakeObjects(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::stop_token& stop,
    const std::function<absl::Status(storage::ListedObject)>& take);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_LISTING_H_
