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

// Saves indexes of shards on disk, each in a file of its own (own_file.h), in a
// directory that only the daemon's user may write. A saved index is usable only
// while the shards have the versions that it records.
//
// Immutable and thread-safe. Owns no index. All calls block for the disk; their
// errors name the file.
class ShardIndexStore {
 public:
  // The first write creates `directory`, which only its owner may use. The
  // budget outlives the store and the indexes.
  ShardIndexStore(std::string directory, base::MemoryBudget* budget)
      : files_(std::move(directory), ".shards", budget) {}

  // Loads the index of the fields `fields` of `shards`. `dataset` is any text
  // that tells datasets with the same fields apart. NOT_FOUND: there is no
  // index, or it is of other shards, or of other versions of these. DATA_LOSS:
  // the file is damaged, or has another version of the file format.
  // PERMISSION_DENIED: the file belongs to another user. RESOURCE_EXHAUSTED:
  // the budget has no room for the index. Others: errors of the disk.
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Load(
      std::string_view dataset, const FieldChoice& fields,
      absl::Span<const Shard> shards) const;

  // Saves an index. The errors are those of Load. If saving fails, the old
  // index stays.
  absl::Status Save(std::string_view dataset, const ShardIndex& index) const;

  // Returns the path of the file that keeps the access points of compressed
  // shards. This file is written before the index. Returns an empty path if the
  // disk does not answer.
  std::string PointsPathOf(std::string_view dataset,
                           const FieldChoice& fields) const;

 private:
  // Returns the text that identifies the dataset and its fields.
  static std::string TextOf(std::string_view dataset,
                            const FieldChoice& fields);

  const IndexStore files_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_INDEX_STORE_H_
