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

// A dataset of files of tokens, and the means to read their headers.
struct TokenRequest {
  std::shared_ptr<const storage::Root> root;
  // The patterns of the files' paths below the root.
  std::vector<std::string> patterns;
  TokenSettings settings = {};
  // Lists the files that match the patterns, in order and in their present
  // versions, and counts the list in the WorkingMemory.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      const std::vector<std::string>&, base::WorkingMemory&,
      const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t files_at_once = 8;  // see TokenScan
};

// Opens datasets of files of tokens. Each Open lists the files anew. Loaders
// share an index in memory while the files and their versions are the same.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same files. Open returns soon after
// its stop is requested, unless other openings wait for the same index.
class TokenCatalog {
 public:
  // Takes memory from `budget`, which outlives the catalog and its datasets.
  explicit TokenCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Opens a dataset. Errors name the root: those of `list`, of ListTokenFiles
  // and of ScanTokens. CANCELLED: the opening was stopped. RESOURCE_EXHAUSTED:
  // the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const TokenRequest& request, const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const TokenIndex>;
  using Search = SingleFlight<std::string, TokenIndex>;

  // Finds the index by FindOnce, and tries again if files change meanwhile.
  // `previous` is an index found before, or null.
  absl::StatusOr<IndexPtr> FindIndex(const TokenRequest& request,
                                     const IndexPtr& previous,
                                     const std::stop_token& stop) const;
  // Lists the files. Returns `previous` if it is an index of these files in
  // these versions. If not, reads the files' headers and makes an index.
  absl::StatusOr<IndexPtr> FindOnce(const TokenRequest& request,
                                    const IndexPtr& previous,
                                    const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  Search search_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_CATALOG_H_
