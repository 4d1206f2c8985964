#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_

#include "server/storage/object_lister.h"

namespace forebay::dataset::shards {

// A tar archive of a dataset, and the version that it must have when it is
// read.
using Shard = storage::ListedObject;

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_
