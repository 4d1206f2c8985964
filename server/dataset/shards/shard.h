#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// A tar archive of a dataset, in the version that reads must find.
struct Shard {
  std::string path;  // below the dataset's root
  storage::ObjectVersion version;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_H_
