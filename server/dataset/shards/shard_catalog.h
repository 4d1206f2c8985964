#ifndef FOREBAY_SERVER_DATASET_SHARDS_SHARD_CATALOG_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SHARD_CATALOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_cache.h"
#include "server/dataset/opening.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_index_store.h"
#include "server/dataset/shards/shard_parser.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// Describes a dataset of shards, and how to scan it.
struct ShardRequest {
  std::shared_ptr<const storage::Root> root;
  // A text that tells this set of shards from other sets below the same root,
  // such as the patterns of its shards.
  std::string name;
  FieldChoice fields;
  // Lists the shards, in order and in their present versions, and counts the
  // list in the WorkingMemory.
  std::function<absl::StatusOr<std::vector<Shard>>(base::WorkingMemory&,
                                                   const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t shards_at_once = 16;  // see ShardScanOptions
  ReadSizes read_sizes = {};
};

// Opens datasets of shards. Each call of Open lists the shards anew. While the
// list has the same shards in the same versions, Open shares the index in
// memory, or loads it from disk; otherwise it scans the shards.
//
// Thread-safe. Owns nothing that it hands out. Open blocks for the listing, for
// reads, and for another Open of the same shards. It returns soon after
// `opening.stop` is requested, unless other openings wait for the same index.
class ShardCatalog {
 public:
  // Saves indexes in `index_directory`; if it is empty, indexes are in memory
  // only. `budget` outlives the catalog and the datasets. `index_cache`
  // outlives the catalog; if it is null, idle indexes are not kept.
  ShardCatalog(const std::string& index_directory, base::MemoryBudget* budget,
               IndexCache* index_cache = nullptr)
      : budget_(budget),
        index_cache_(index_cache),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<ShardIndexStore>(
                                             index_directory, budget)) {}

  // Opens the dataset. Adds a sentence to `warnings` for each failure that did
  // no harm. Errors name the root. CANCELLED: the opening was stopped.
  // RESOURCE_EXHAUSTED: the budget has no room. Others: those of `list` and of
  // ScanShards.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ShardRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const ShardIndex>;
  using Search =
      SingleFlight<std::pair<std::uint64_t, std::uint64_t>, ShardIndex>;

  // Finds the index by FindOnce, and tries again if shards change meanwhile.
  absl::StatusOr<IndexPtr> FindIndex(const ShardRequest& request,
                                     const std::string& name, IndexPtr previous,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Returns `previous` if it still fits the shards; otherwise loads the index
  // or scans for it. Resets `previous` before that, to free its memory.
  absl::StatusOr<IndexPtr> FindOnce(const ShardRequest& request,
                                    const std::string& name, IndexPtr& previous,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  // Loads the index from disk. Returns null if the disk has no index of these
  // shards in these versions.
  IndexPtr Load(const ShardRequest& request, const std::string& name,
                const std::vector<Shard>& shards,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  IndexCache* const index_cache_;
  const std::optional<ShardIndexStore> store_;
  // Searches for indexes. The key is a 128-bit digest of the text that tells
  // datasets apart, since that text may be long.
  Search search_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_CATALOG_H_
