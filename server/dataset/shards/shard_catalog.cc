#include "server/dataset/shards/shard_catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/shards/shard_dataset.h"
#include "server/dataset/shards/shard_scan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset::shards {
namespace {

// How often shards are listed that change while they are scanned.
constexpr int kMaxTries = 3;
// Reads of headers take at most this part of the memory.
constexpr std::uint64_t kReadsPart = 32;

// Of the shards alone.
std::string NameOf(const ShardRequest& request) {
  const auto identity = request.root->identity();
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      std::string(1, '\0'), request.name);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> ShardCatalog::Open(
    const ShardRequest& request, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  const std::string name = NameOf(request);
  // No field has a blank in it.
  const std::string key = absl::StrCat(
      absl::StrJoin(request.fields.fields(), " "), std::string(1, '\0'), name);
  const XXH128_hash_t digest = XXH3_128bits(key.data(), key.size());
  // Of equal digests, Find tells that the shards are others.
  auto index =
      search_.Find({digest.high64, digest.low64}, stop,
                   [&](const IndexPtr& known, const std::stop_token& search) {
                     return Find(request, name, known, warnings, search);
                   });
  if (!index.ok()) return base::Annotate(index.status(), request.root->uri());
  return std::make_shared<const ShardDataset>(*std::move(index), request.root,
                                              budget_);
}

absl::StatusOr<ShardCatalog::IndexPtr> ShardCatalog::Find(
    const ShardRequest& request, const std::string& name, const IndexPtr& known,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, name, known, warnings, stop);
    // A shard that was replaced or touched between two looks at it.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries) return index;
  }
}

absl::StatusOr<ShardCatalog::IndexPtr> ShardCatalog::FindOnce(
    const ShardRequest& request, const std::string& name, const IndexPtr& known,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of shards and their index");
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<Shard> shards,
                           request.list(memory, stop));
  if (known != nullptr && known->IsOf(request.fields, shards)) return known;
  if (IndexPtr kept = Load(request, name, shards, warnings); kept != nullptr) {
    return kept;
  }
  ShardScanOptions options;
  options.shards_at_once =
      std::min(request.shards_at_once,
               std::max<std::size_t>(
                   1, budget_->limit() / kReadsPart / request.read_sizes.max));
  options.read_sizes = request.read_sizes;
  options.stop = stop;
  FOREBAY_ASSIGN_OR_RETURN(IndexPtr index,
                           ScanShards(*request.source, request.root, shards,
                                      request.fields, options, memory));
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

// Null if there is none that can still be used.
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
