#include "server/daemon/disk_tier.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/byte_size.h"
#include "server/base/status.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {

using cache::disk::Directory;
using cache::disk::DiskCache;

namespace {

absl::StatusOr<std::unique_ptr<DiskCache>> OpenTier(
    const proto::CacheConfig& config, const DiskCache::Deps& deps,
    Directory** used) {
  FOREBAY_ASSIGN_OR_RETURN(
      const std::uint64_t bytes,
      base::ParseByteSize(config.disk_size(), /*total=*/0));
  FOREBAY_ASSIGN_OR_RETURN(auto directory, Directory::Lock(config.directory()));
  *used = directory.get();
  return DiskCache::Create({.store = {.capacity = bytes}}, std::move(directory),
                           deps);
}

}  // namespace

DiskTier::DiskTier(const proto::CacheConfig& config,
                   const DiskCache::Deps& deps)
    : below_(deps.below) {
  if (config.directory().empty()) return;
  auto tier = OpenTier(config, deps, &directory_);
  if (!tier.ok()) {
    refusal_ =
        absl::StrCat("nothing is cached on disk: ", tier.status().message());
    spdlog::warn("{}", refusal_);
    return;
  }
  tier_ = *std::move(tier);
  const cache::disk::Snapshot snapshot = tier_->Snapshot();
  spdlog::info("the cache on disk, {}, holds {} entries in {} of {} MiB",
               config.directory(), snapshot.entries, snapshot.used >> 20,
               snapshot.capacity >> 20);
}

std::optional<cache::disk::Snapshot> DiskTier::Snapshot() const {
  if (tier_ == nullptr) return std::nullopt;
  return tier_->Snapshot();
}

}  // namespace forebay::daemon
