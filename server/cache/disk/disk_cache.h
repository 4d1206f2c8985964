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
#include "server/cache/disk/disk_snapshot.h"
#include "server/cache/disk/read_threads.h"
#include "server/cache/disk/slow_disk_detector.h"
#include "server/cache/disk/store.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use.h"
#include "server/schedule/job_shares.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// The cache's second tier. Caches bytes that came from other hosts on a disk of
// this host, across restarts of the daemon and the host. Only bytes below roots
// with a lasting identity are cached; roots on a disk of this host have none,
// because caching them would gain nothing. Before the tier gives bytes out, it
// checks that their record is the one that the request asks for. If the disk
// fails, requests go to the source below. A disk that is much slower than the
// source below is not used for a while, as after a failure. Thread-safe.
//
// The daemon owns it. The source below, the budget, NextUse and the clock
// outlive it. Bytes that the tier gave out may outlive it.
//
// Read does not block, except in the root's StillHas. Create and the destructor
// block for the disk. The destructor waits for the reads in flight, on the disk
// and in the source below.
//
// Errors are those of the source below. Create returns RESOURCE_EXHAUSTED (the
// budget has no room, or the system gives no threads) or UNAVAILABLE (the
// volume cannot be read).
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

  // Returns the interface that sets how jobs share the tier's disk.
  schedule::JobShares* shares() { return &threads_; }

  // Checks whether the disk is too slow. If so, sends the hits that wait for
  // the disk to the source below. Read checks this, too; Tick is for times when
  // all readers wait and nobody calls Read. Call it about every second.
  void Tick() { IsTooSlow(); }

  // Serves the hits that are queued; later hits get CANCELLED. Afterwards only
  // callers of Read cause reads of the source below. The source below may
  // therefore be destroyed before this tier, once nobody calls Read. Call it on
  // one thread.
  void Stop();

  disk::DiskSnapshot Snapshot() const;

 private:
  DiskCache(const Options& options, const Deps& deps,
            base::MemoryReservation memory, std::unique_ptr<Store> store);

  // Returns whether the disk is not to be used now. If it has just become too
  // slow, sends the hits that wait for it to the source below.
  bool IsTooSlow();
  // Notes how long a read of the source below took.
  void RecordSourceRead(std::int64_t nanos);

  // Queues a hit, which BeginRead has counted, for the reading threads.
  void Queue(ReadThreads::Read hit);
  // Returns a request without a length, by which the source below checks the
  // object. The hit is served from the disk if the source gives no error.
  storage::ReadRequest ValidationRequest(ReadThreads::Read hit);
  // Reads a hit from the disk, on a reading thread. Errors are those of
  // ReadRecord.
  absl::StatusOr<base::Bytes> ReadDisk(const ReadThreads::Read& read,
                                       const PageBuffer& scratch);
  // Answers a hit on a reading thread: from the disk, or by a read below if the
  // disk fails.
  void Serve(ReadThreads::Read read, const PageBuffer& scratch);
  // Returns the request with a `done` that also inserts the bytes into the
  // store.
  storage::ReadRequest CachingRequest(storage::ReadRequest request);
  // Reads, from the source below, the hits that the disk does not give.
  void ReadBelow(absl::Span<ReadThreads::Read> hits);
  // Returns the purposes of the readers that joined the hit, and stops
  // collecting them.
  std::vector<storage::ReadPurpose> TakeJoined(std::uint64_t ticket);

  // Counts a read, for which the destructor waits until EndRead.
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
  // The purposes of the readers that joined each hit in flight, by ticket. If
  // the hit is read from the source below instead, the purposes are passed to
  // Share of that source.
  std::unordered_map<std::uint64_t, std::vector<storage::ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  SlowDiskDetector slow_disk_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker slow_breaker_ ABSL_GUARDED_BY(mutex_){/*tolerated=*/0};

  // The last member, because the threads use the others.
  ReadThreads threads_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_DISK_CACHE_H_
