#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_LAYOUT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/shards/shard_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// The layout of an index's shards. Reads the headers of a shard again after it
// was touched. If its samples are where they were, the index knows it by its
// new ctime from then on.
//
// Threads, blocking and errors are as ObjectLayout says. Counts what it reads
// in the budget, which outlives it.
class ShardLayout final : public storage::ObjectLayout {
 public:
  ShardLayout(std::shared_ptr<const ShardIndex> index,
              base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  using Done = std::function<void(absl::StatusOr<storage::Revision>)>;

  void LookAgain(const storage::ReadRequest& read, storage::ByteSource& source,
                 Done done) const override;

 private:
  const std::shared_ptr<const ShardIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_LAYOUT_H_
