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

// The layout of an index's shards. If a read finds that a shard's ctime has
// changed, Revalidate reads the shard's headers again. If the samples are where
// the index has them, the index records the new ctime.
//
// For threads, blocking and errors, see ObjectLayout. Shares the index. Counts
// the memory of a revalidation in the budget, which outlives the layout.
class ShardLayout final : public storage::ObjectLayout {
 public:
  ShardLayout(std::shared_ptr<const ShardIndex> index,
              base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  using Done = std::function<void(absl::StatusOr<storage::Revision>)>;

  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  Done done) const override;

 private:
  const std::shared_ptr<const ShardIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_LAYOUT_H_
