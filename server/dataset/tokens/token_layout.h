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

// The layout of an index's files. If a read finds that a file's ctime has
// changed, Revalidate reads the file's header again, or one token if the file
// has no header. If the header still tells the same number and type of tokens,
// the index records the new ctime.
//
// Threads, ownership, blocking and errors are as ObjectLayout says.
// RESOURCE_EXHAUSTED: `budget` has no room for the read.
class TokenLayout final : public storage::ObjectLayout {
 public:
  // Counts reads in `budget`, which outlives the layout.
  TokenLayout(std::shared_ptr<const TokenIndex> index,
              base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const TokenIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_LAYOUT_H_
