#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_DATASET_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/tokens/token_index.h"
#include "server/dataset/tokens/token_layout.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::tokens {

// A dataset of files of tokens. Each window is a sample with the field "tokens"
// and, if TokenSettings::has_targets, the field "targets": the same window,
// shifted by one token. Both fields are ranges of one extent, which has one
// token more than each field.
//
// Threads and blocking are as Dataset says. Datasets with different roots may
// share an index. Has no errors.
class TokenDataset final : public Dataset {
 public:
  // The windows of `index` are read through `root`. `budget` counts the reads
  // by which TokenLayout checks files; it outlives the dataset.
  TokenDataset(std::shared_ptr<const TokenIndex> index,
               std::shared_ptr<const storage::Root> root,
               base::MemoryBudget* budget);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override {
    return index_->longest() * token_bytes();
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  std::uint64_t token_bytes() const { return proto::SizeOf(index_->dtype()); }

  const std::shared_ptr<const TokenIndex> index_;
  const std::shared_ptr<const TokenLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
  // Names of the classes; always empty, as tokens have no labels.
  const std::vector<std::string> classes_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_DATASET_H_
