#include "server/dataset/shards/shard_catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/shards/shard_dataset.h"
#include "server/dataset/shards/shard_scan.h"
#include "server/dataset/shown_name.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// An opening always lists the shards, since only a list shows new or replaced
// shards. It takes the index that other loaders have open, if that index has
// the listed shards in their versions. Otherwise it takes the index on disk, on
// the same condition. Otherwise it scans the shards.

namespace forebay::dataset::shards {
namespace {

// The most attempts to list and scan shards that change meanwhile.
constexpr int kMaxTries = 3;
// Reads of headers take at most one part in kReadsPart of the memory limit.
constexpr std::uint64_t kReadsPart = 32;

// Returns a text that identifies the set of shards, without the fields.
std::string NameOf(const ShardRequest& request) {
  const auto identity = request.root->identity();
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      std::string(1, '\0'), request.name);
}

// Adds a warning if any sample lacks a field.
void WarnOfLacks(const ShardRequest& request, const ShardIndex& index,
                 std::vector<std::string>* warnings) {
  if (index.lacking_samples() == 0) return;
  const std::uint64_t first = index.first_lacking();
  warnings->push_back(absl::StrCat(
      request.root->uri(), ": ", index.lacking_samples(), " of ", index.size(),
      " samples lack a field and count as damaged; the first is sample ", first,
      " (", ShownName(index.KeyOf(first)), ") of ",
      ShownName(index.ShardAt(index.ShardOf(first)).name)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> ShardCatalog::Open(
    const ShardRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::string name = NameOf(request);
  // A NUL separates the fields from the name, and a slash separates the fields:
  // a field has neither.
  const std::string key = absl::StrCat(
      absl::StrJoin(request.fields.fields(), "/"), std::string(1, '\0'), name);
  const XXH128_hash_t digest = XXH3_128bits(key.data(), key.size());
  // If two keys had the same digest, IsOf would reject the other key's index.
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find({digest.high64, digest.low64}, request.root->uri(), opening,
                   [&](Search::Start start, const std::stop_token& search) {
                     return FindIndex(request, name, std::move(start.item),
                                      warnings, search);
                   }));
  if (index_cache_ != nullptr)
    index_cache_->Keep(
        absl::StrCat("shards ", key), index,
        index->memory() + storage::compressed::MemoryOf(index->points()));
  return std::make_shared<const ShardDataset>(std::move(index), request.root,
                                              budget_);
}

absl::StatusOr<ShardCatalog::IndexPtr> ShardCatalog::FindIndex(
    const ShardRequest& request, const std::string& name, IndexPtr previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, name, previous, warnings, stop);
    // These errors mean that a shard has changed between the listing and the
    // scan.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (index.ok()) return index;
    if (!changed || tries == kMaxTries)
      return base::Annotate(index.status(), request.root->uri());
  }
}

absl::StatusOr<ShardCatalog::IndexPtr> ShardCatalog::FindOnce(
    const ShardRequest& request, const std::string& name, IndexPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of shards and their index");
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<Shard> shards,
                           request.list(memory, stop));
  if (previous != nullptr && previous->IsOf(request.fields, shards))
    return previous;
  previous.reset();
  if (IndexPtr saved = Load(request, name, shards, warnings);
      saved != nullptr) {
    WarnOfLacks(request, *saved, warnings);
    return saved;
  }
  ShardScanOptions options;
  // Each shard has one read in flight, of at most read_sizes.max bytes.
  options.shards_at_once =
      std::min(request.shards_at_once,
               std::max<std::size_t>(
                   1, budget_->limit() / kReadsPart / request.read_sizes.max));
  options.read_sizes = request.read_sizes;
  options.stop = stop;
  if (store_.has_value())
    options.points_path = store_->PointsPathOf(name, request.fields);
  FOREBAY_ASSIGN_OR_RETURN(IndexPtr index,
                           ScanShards(*request.source, request.root, shards,
                                      request.fields, options, memory));
  WarnOfLacks(request, *index, warnings);
  if (store_.has_value()) {
    if (const auto saved = store_->Save(name, *index); !saved.ok()) {
      warnings->push_back(absl::StrCat(request.root->uri(),
                                       ": its index is kept in memory "
                                       "only: ",
                                       saved.message()));
    }
  }
  return index;
}

// If loading fails, adds a warning, unless the index is missing or out of date.
ShardCatalog::IndexPtr ShardCatalog::Load(
    const ShardRequest& request, const std::string& name,
    const std::vector<Shard>& shards,
    std::vector<std::string>* warnings) const {
  if (!store_.has_value()) return nullptr;
  auto index = store_->Load(name, request.fields, shards);
  if (index.ok()) return *std::move(index);
  if (!absl::IsNotFound(index.status())) {
    warnings->push_back(
        absl::StrCat(request.root->uri(),
                     ": its index is built anew: ", index.status().message()));
  }
  return nullptr;
}

}  // namespace forebay::dataset::shards
