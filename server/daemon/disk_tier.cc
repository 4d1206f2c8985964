#include "server/daemon/disk_tier.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/byte_size.h"
#include "server/base/status.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {

using cache::disk::CacheDirectory;
using cache::disk::DiskCache;

namespace {

// Locks the configured directory and opens the tier in it. Sets `used` to the
// directory, which the tier owns.
absl::StatusOr<std::unique_ptr<DiskCache>> OpenTier(
    const proto::CacheConfig& config, const DiskCache::Deps& deps,
    CacheDirectory** used) {
  FOREBAY_ASSIGN_OR_RETURN(
      const std::uint64_t bytes,
      base::ParseByteSize(config.disk_size(), /*total=*/0));
  FOREBAY_ASSIGN_OR_RETURN(auto directory,
                           CacheDirectory::Lock(config.directory()));
  *used = directory.get();
  return DiskCache::Create({.store = {.capacity = bytes}}, std::move(directory),
                           deps);
}

}  // namespace

DiskTier::DiskTier(const proto::CacheConfig& config,
                   const DiskCache::Deps& deps)
    : below_(deps.below) {
  if (config.directory().empty()) return;
  // A tier that cannot be opened does not keep the daemon from serving: reads
  // then go to the source below, and `doctor` shows the reason.
  auto tier = OpenTier(config, deps, &directory_);
  if (!tier.ok()) {
    refusal_ =
        absl::StrCat("nothing is cached on disk: ", tier.status().message());
    spdlog::warn("{}", refusal_);
    return;
  }
  tier_ = *std::move(tier);
  const cache::disk::DiskSnapshot snapshot = tier_->Snapshot();
  spdlog::info("the cache on disk, {}, holds {} entries in {} of {} MiB",
               config.directory(), snapshot.entries, snapshot.used >> 20,
               snapshot.capacity >> 20);
}

std::optional<cache::disk::DiskSnapshot> DiskTier::Snapshot() const {
  if (tier_ == nullptr) return std::nullopt;
  return tier_->Snapshot();
}

}  // namespace forebay::daemon
