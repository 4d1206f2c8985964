#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index_store.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"

namespace forebay::dataset::shards {

// Indexes of shards on disk, one file a dataset (own_file.h), in a directory
// that only the daemon's user may write. An index is of use only while the
// shards have the versions that it has. Immutable and thread-safe. All calls
// block for the disk; their errors name the file.
class ShardIndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes.
  ShardIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".shards", budget) {}

  // `dataset`, any text, tells datasets with the same fields apart. NOT_FOUND:
  // there is none, or it is of other shards or versions. DATA_LOSS: it is
  // damaged or of another version of the format. PERMISSION_DENIED: the file
  // belongs to another user. RESOURCE_EXHAUSTED: the budget has no room for it.
  // Others: the disk's.
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Load(
      std::string_view dataset, const FieldChoice& fields,
      absl::Span<const Shard> shards) const;

  // Errors as Load's; on failure the former index is still there.
  absl::Status Save(std::string_view dataset, const ShardIndex& index) const;

  // Where the access points of its compressed shards are kept. They are written
  // before the index is.
  std::string PointsPathOf(std::string_view dataset,
                           const FieldChoice& fields) const;

 private:
  // Of the dataset with those fields.
  static std::string TextOf(std::string_view dataset,
                            const FieldChoice& fields);

  const IndexStore files_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_STORE_H_
