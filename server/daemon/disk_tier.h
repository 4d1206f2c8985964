#ifndef FOREBAY_SERVER_DAEMON_DISK_TIER_H_
#define FOREBAY_SERVER_DAEMON_DISK_TIER_H_

#include <memory>
#include <optional>
#include <string>

#include "proto/config.pb.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/disk/volume.h"
#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"

namespace forebay::daemon {

// The cache's second tier, if the configuration names a directory that can be
// used; else reads go to the source below. Logs which, and why.
//
// Thread-safe. Owns the tier; the surroundings outlive it. Construction and
// destruction block for the disk. No errors: there is always a source.
class DiskTier {
 public:
  DiskTier(const proto::CacheConfig& config,
           const cache::disk::DiskCache::Deps& deps);

  storage::ByteSource* source() {
    return tier_ != nullptr ? tier_.get() : below_;
  }
  // Shares the tier's disk among jobs. Returns null if there is no tier.
  schedule::JobShares* shares() {
    return tier_ != nullptr ? tier_->shares() : nullptr;
  }
  // To be called every second or so, as DiskCache's.
  void Tick() {
    if (tier_ != nullptr) tier_->Tick();
  }
  // To be called before the source below goes, as DiskCache's.
  void Stop() {
    if (tier_ != nullptr) tier_->Stop();
  }
  // The descriptor that the directory's lock is held by; it belongs to the
  // tier. Returns -1 if there is no tier.
  int lock() const { return tier_ != nullptr ? directory_->lock() : -1; }
  // Returns nullopt if there is no tier.
  std::optional<cache::disk::Snapshot> Snapshot() const;
  // Why there is no tier: a sentence. Empty: there is one, or none is wanted.
  const std::string& refusal() const { return refusal_; }

 private:
  storage::ByteSource* const below_;
  cache::disk::Directory* directory_ = nullptr;  // the tier's
  std::unique_ptr<cache::disk::DiskCache> tier_;
  std::string refusal_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_DISK_TIER_H_
