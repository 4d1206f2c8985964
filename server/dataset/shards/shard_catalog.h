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
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_index.h"
#include "server/dataset/shards/shard_index_store.h"
#include "server/dataset/shards/shard_parser.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::shards {

// A dataset of shards, and how to look at it.
struct ShardRequest {
  std::shared_ptr<const storage::Root> root;
  // Tells sets of shards below equal roots apart, such as by their patterns.
  std::string name;
  FieldChoice fields;
  // The shards, in their order, with their present versions; counted in the
  // memory.
  std::function<absl::StatusOr<std::vector<Shard>>(base::WorkingMemory&,
                                                   const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  // How headers are read: of so many shards at once, at least one.
  std::size_t shards_at_once = 16;
  ReadSizes read_sizes = {};
};

// All datasets of shards that are open. Shards are listed anew for each who
// opens them; their index is shared in memory, and found on disk, as long as
// they are the same in the same versions.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same shards, but not for long once its
// stop is requested.
class ShardCatalog {
 public:
  // Where indexes are kept; empty: in memory only. The budget outlives it and
  // the datasets.
  ShardCatalog(const std::string& index_directory, base::MemoryBudget* budget)
      : budget_(budget),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<ShardIndexStore>(
                                             index_directory, budget)) {}

  // What went wrong without harm is added to `warnings`, a sentence each.
  // Errors name the root: those of `list` and of ScanShards; CANCELLED:
  // stopped; RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ShardRequest& request, std::vector<std::string>* warnings,
      const std::stop_token& stop);

 private:
  using IndexPtr = std::shared_ptr<const ShardIndex>;

  absl::StatusOr<IndexPtr> Find(const ShardRequest& request,
                                const std::string& name, const IndexPtr& known,
                                std::vector<std::string>* warnings,
                                const std::stop_token& stop) const;
  absl::StatusOr<IndexPtr> FindOnce(const ShardRequest& request,
                                    const std::string& name,
                                    const IndexPtr& known,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  IndexPtr Load(const ShardRequest& request, const std::string& name,
                const std::vector<Shard>& shards,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  const std::optional<ShardIndexStore> store_;
  // By a digest of what tells them apart, which may be long.
  SingleFlight<std::pair<std::uint64_t, std::uint64_t>, ShardIndex> search_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SHARD_CATALOG_H_
