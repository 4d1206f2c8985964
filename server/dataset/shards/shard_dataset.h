#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_DATASET_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_DATASET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_layout.h"

namespace forebay::dataset::shards {

// A dataset of shards. Several datasets, each with its own root, may share an
// index. A field's name is the first of its alternatives. Gzip-compressed
// members are decompressed by ReadValues. A sample that lacks a field counts as
// damaged: its ReadValues fails with DATA_LOSS.
//
// For threads, ownership, blocking and errors, see Dataset. `budget` outlives
// the dataset.
class ShardDataset final : public Dataset {
 public:
  ShardDataset(std::shared_ptr<const ShardIndex> index,
               std::shared_ptr<const storage::Root> root,
               base::MemoryBudget* budget);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_self_describing() const override {
    return index_->fields().any_gzipped();
  }
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
  void MostBytesOf(std::uint64_t id,
                   absl::Span<std::uint64_t> bytes) const override;
  std::string NameOf(std::uint64_t id) const override {
    return index_->KeyOf(id);
  }
  std::uint64_t largest_sample() const override {
    return index_->largest_extent();
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  // Checks that a sample has all fields. DATA_LOSS: it lacks one.
  absl::Status CheckFields(std::uint64_t id) const;
  // Returns the range of a field in the sample's extent. If the sample lacks
  // the field, the range lies outside the extent.
  FieldRange RangeOf(std::uint64_t id, std::size_t field) const;
  // Whether the sample's member for the field is gzip-compressed.
  bool IsGzipped(std::uint64_t id, std::size_t field) const;

  const std::shared_ptr<const ShardIndex> index_;
  const std::shared_ptr<const ShardLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  std::vector<Field> fields_;
  const std::vector<std::string> classes_;  // empty: shards do not name classes
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_DATASET_H_
