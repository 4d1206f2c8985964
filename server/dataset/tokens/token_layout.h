#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_LAYOUT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/tokens/token_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::tokens {

// The layout of an index's files. Reads the header of a file again after it was
// touched, or one token of a file that has none. If there are as many tokens of
// the same type as before, the index knows it by its new ctime from then on.
//
// Threads, blocking and errors are as ObjectLayout says. Counts what it reads
// in the budget, which outlives it.
class TokenLayout final : public storage::ObjectLayout {
 public:
  TokenLayout(std::shared_ptr<const TokenIndex> index,
              base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  void LookAgain(const storage::ReadRequest& read, storage::ByteSource& source,
                 std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const TokenIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_LAYOUT_H_
