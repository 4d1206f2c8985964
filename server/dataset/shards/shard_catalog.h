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
#include "server/dataset/kept_indexes.h"
#include "server/dataset/opening.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_index_store.h"
#include "server/dataset/shards/shard_parser.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// A dataset of shards, and how to scan it.
struct ShardRequest {
  std::shared_ptr<const storage::Root> root;
  // Tells apart sets of shards below one root, such as by their patterns.
  std::string name;
  FieldChoice fields;
  // Returns the shards, in their order and present versions, counted in the
  // memory.
  std::function<absl::StatusOr<std::vector<Shard>>(base::WorkingMemory&,
                                                   const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t shards_at_once = 16;  // see ShardScanOptions
  ReadSizes read_sizes = {};
};

// All datasets of shards that are open. Each Open lists the shards anew. While
// they are the same shards in the same versions, it shares their index in
// memory, or finds it on disk.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same shards, but returns soon after
// its stop is requested unless others wait for the same.
class ShardCatalog {
 public:
  // Saves indexes in that directory. If it is empty, they are in memory only.
  // The budget outlives the catalog and the datasets; `kept`, unless it is
  // null, the catalog.
  ShardCatalog(const std::string& index_directory, base::MemoryBudget* budget,
               KeptIndexes* kept = nullptr)
      : budget_(budget),
        kept_(kept),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<ShardIndexStore>(
                                             index_directory, budget)) {}

  // Adds to `warnings`, a sentence each, what failed without harm. Errors name
  // the root: those of `list` and of ScanShards; CANCELLED: stopped;
  // RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ShardRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const ShardIndex>;
  using Search =
      SingleFlight<std::pair<std::uint64_t, std::uint64_t>, ShardIndex>;

  absl::StatusOr<IndexPtr> FindIndex(const ShardRequest& request,
                                     const std::string& name, IndexPtr known,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Lets `known` go if that is not the index.
  absl::StatusOr<IndexPtr> FindOnce(const ShardRequest& request,
                                    const std::string& name, IndexPtr& known,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  IndexPtr Load(const ShardRequest& request, const std::string& name,
                const std::vector<Shard>& shards,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  KeptIndexes* const kept_;
  const std::optional<ShardIndexStore> store_;
  // By a digest of what tells datasets apart, which may be long.
  Search search_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_CATALOG_H_
