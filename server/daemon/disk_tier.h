#ifndef FOREBAY_SERVER_DAEMON_DISK_TIER_H_
#define FOREBAY_SERVER_DAEMON_DISK_TIER_H_

#include <memory>
#include <optional>
#include <string>

#include "proto/config.pb.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/cache/disk/volume.h"
#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"

namespace forebay::daemon {

// The cache's second tier, in the directory that the configuration names. If no
// directory is named, or the directory cannot be used, reads go to the source
// below. If the directory cannot be used, the log says why.
//
// Thread-safe. Owns the tier; the members of `deps` outlive it. Construction
// and destruction block for the disk. Has no errors: without a tier, source()
// is the source below.
class DiskTier {
 public:
  DiskTier(const proto::CacheConfig& config,
           const cache::disk::DiskCache::Deps& deps);

  // Returns the tier, or the source below if there is none.
  storage::ByteSource* source() {
    return tier_ != nullptr ? tier_.get() : below_;
  }
  // Returns the interface that sets how jobs share the tier's disk; null if
  // there is no tier.
  schedule::JobShares* shares() {
    return tier_ != nullptr ? tier_->shares() : nullptr;
  }
  // Calls DiskCache::Tick. Call it about every second.
  void Tick() {
    if (tier_ != nullptr) tier_->Tick();
  }
  // Calls DiskCache::Stop. Call it before the source below is destroyed.
  void Stop() {
    if (tier_ != nullptr) tier_->Stop();
  }
  // Returns the descriptor that holds the directory's lock, which the tier
  // owns; -1 if there is no tier.
  int lock() const { return tier_ != nullptr ? directory_->lock() : -1; }
  // Returns the tier's state; nullopt if there is no tier.
  std::optional<cache::disk::DiskSnapshot> Snapshot() const;
  // Returns a sentence that says why there is no tier; empty if there is a
  // tier, or none is configured.
  const std::string& refusal() const { return refusal_; }

 private:
  storage::ByteSource* const below_;
  cache::disk::CacheDirectory* directory_ = nullptr;  // the tier owns it
  std::unique_ptr<cache::disk::DiskCache> tier_;
  std::string refusal_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_DISK_TIER_H_
