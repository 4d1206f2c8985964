#include "server/dataset/shards/shard_dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/base/check.h"
#include "server/storage/inflated/inflated_root.h"

namespace forebay::dataset::shards {

ShardDataset::ShardDataset(std::shared_ptr<const ShardIndex> index,
                           std::shared_ptr<const storage::Root> root,
                           base::MemoryBudget* budget)
    : index_(std::move(index)),
      layout_(std::make_shared<const ShardLayout>(index_, budget)),
      root_(storage::inflated::WithPoints(std::move(root), index_->points())) {
  const FieldChoice& chosen = index_->fields();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::vector<std::string>& names = chosen.alternatives(i);
    Field& field = fields_.emplace_back();
    field.name = names.front();
    field.kind = chosen.kind(i);
    field.longest = index_->LongestOf(i);
    field.shortest = index_->ShortestOf(i);
    if (names.size() > 1) field.alternatives = absl::StrJoin(names, ";");
  }
}

Sample ShardDataset::At(std::uint64_t id) const {
  Shard shard = index_->ShardAt(index_->ShardOf(id));
  const ShardIndex::Extent extent = index_->ExtentOf(id);
  return {.object = std::move(shard.name),
          .version = shard.version,
          .layout = layout_,
          .offset = extent.offset,
          .length = extent.length};
}

void ShardDataset::ValuesOf(std::uint64_t id,
                            absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  const ShardIndex::Extent extent = index_->ExtentOf(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ChosenMember member = index_->MemberOf(id, i);
    values[i] = FieldRange{member.offset - extent.offset, member.length};
  }
}

}  // namespace forebay::dataset::shards
