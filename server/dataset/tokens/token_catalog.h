#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_CATALOG_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_CATALOG_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/dataset/tokens/token_index.h"
#include "server/dataset/tokens/token_settings.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::tokens {

// A dataset of files of tokens, and how to read their headers.
struct TokenRequest {
  std::shared_ptr<const storage::Root> root;
  std::vector<std::string> patterns;  // of the files, below the root
  TokenSettings settings = {};
  // Returns the files of patterns, in their order and present versions, counted
  // in the memory.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      const std::vector<std::string>&, base::WorkingMemory&,
      const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t files_at_once = 8;  // see TokenScan
};

// All datasets of files of tokens that are open. Each Open lists the files
// anew. While they are the same files in the same versions, it shares their
// index.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same files, but returns soon after its
// stop is requested unless others wait for the same.
class TokenCatalog {
 public:
  // The budget outlives the catalog and the datasets.
  explicit TokenCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Errors name the root: those of `list`, ListTokenFiles and ScanTokens;
  // CANCELLED: stopped; RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const TokenRequest& request, const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const TokenIndex>;
  using Search = SingleFlight<std::string, TokenIndex>;

  absl::StatusOr<IndexPtr> FindIndex(const TokenRequest& request,
                                     const IndexPtr& known,
                                     const std::stop_token& stop) const;
  absl::StatusOr<IndexPtr> FindOnce(const TokenRequest& request,
                                    const IndexPtr& known,
                                    const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  Search search_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_CATALOG_H_
