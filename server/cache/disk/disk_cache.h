#ifndef FOREBAY_SERVER_CACHE_DISK_DISK_CACHE_H_
#define FOREBAY_SERVER_CACHE_DISK_DISK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/cache/disk/circuit_breaker.h"
#include "server/cache/disk/read_threads.h"
#include "server/cache/disk/slow_disk_detector.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/disk/store.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use.h"
#include "server/schedule/job_shares.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// The cache's second tier: caches on a disk of this host what was read from
// farther away. It survives restarts of the daemon and the host. It caches only
// roots with a lasting identity: for those on a disk of this host there would
// be no gain. It checks all bytes that it gives out against the request. If its
// disk fails, it reads the source below. If its disk is much slower than that
// source, it does not use it for a while, as after a failure.
// Thread-safe. Owned by the daemon. The source below, the budget, NextUse and
// the clock outlive it, as do the bytes that it gave out. Read does not block,
// except in the root's StillHas. Create and the destructor block for the disk.
// The destructor waits for the reads in flight, on the disk and below. Errors
// are those of the source below. Create returns RESOURCE_EXHAUSTED (the budget)
// or UNAVAILABLE (the volume cannot be read).
class DiskCache final : public storage::ByteSource {
 public:
  struct Options {
    Store::Options store;
    int read_threads = 8;
  };
  struct Deps {
    storage::ByteSource* below = nullptr;
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<DiskCache>> Create(
      const Options& options, std::unique_ptr<Volume> volume, const Deps& deps);
  ~DiskCache() override;

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override;

  // Shares the tier's disk among jobs.
  schedule::JobShares* shares() { return &threads_; }

  // Checks whether the disk is too slow; if so, reads below what waits for it.
  // Read does this, too; Tick does it while no one reads because all wait. Call
  // it every second or so.
  void Tick() { IsTooSlow(); }

  // Serves the hits that are queued, and cancels later ones. After it, only
  // callers of Read cause reads below. So the source below may be destroyed
  // first, once no one calls Read. Call it on one thread.
  void Stop();

  disk::Snapshot Snapshot() const;

 private:
  DiskCache(const Options& options, const Deps& deps,
            base::MemoryReservation memory, std::unique_ptr<Store> store);

  // Returns whether the disk is not to be used now.
  bool IsTooSlow();
  void RecordSourceRead(std::int64_t nanos);

  // Queues a hit, which BeginRead has counted.
  void Queue(ReadThreads::Read hit);
  // A read without bytes, after which the hit is served if it is still current.
  storage::ReadRequest ValidationRequest(ReadThreads::Read hit);
  // Called on the reading threads.
  absl::StatusOr<base::Bytes> ReadDisk(const ReadThreads::Read& read,
                                       const PageBuffer& scratch);
  void Serve(ReadThreads::Read read, const PageBuffer& scratch);
  // The request, with a `done` that also inserts the bytes into the store.
  storage::ReadRequest CachingRequest(storage::ReadRequest request);
  // Reads below the hits that the disk does not give.
  void ReadBelow(absl::Span<ReadThreads::Read> hits);
  // Returns the purposes that joined the hit, and stops collecting them.
  std::vector<storage::ReadPurpose> TakeJoined(std::uint64_t ticket);

  void BeginRead();
  void EndRead();

  storage::ByteSource* const below_;
  const base::Clock* const clock_;
  const base::MemoryReservation memory_;
  const std::shared_ptr<storage::BufferPool> buffers_;
  const std::unique_ptr<Store> store_;

  mutable base::Mutex mutex_;
  base::CondVar all_reads_done_;
  std::uint64_t reads_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // By ticket, the purposes that joined each hit in flight, for a read below
  // instead.
  std::unordered_map<std::uint64_t, std::vector<storage::ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  SlowDiskDetector slow_disk_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker slow_breaker_ ABSL_GUARDED_BY(mutex_){/*tolerated=*/0};

  ReadThreads threads_;  // the last member, because they use the others
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_DISK_CACHE_H_
