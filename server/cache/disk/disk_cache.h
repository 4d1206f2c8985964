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

// The cache's second tier: keeps on a disk of this host what was read from
// farther away, also when the daemon or the host is started again. Only roots
// with a lasting identity are kept: what lies on a disk of this host gains
// nothing here. What it gives was checked, byte for byte, against what was
// asked for; whatever is wrong with its disk, the source below is read. So it
// is while the disk is slower than that by far: then it is left alone for a
// time, as one that fails is.
//
// Thread-safe. Owned by the daemon; the source below, the budget, NextUse
// and the clock outlive it, as does what it handed out. Read does not block,
// but for what a root's StillHas takes.
// Create and destruction block for the disk; destruction waits for the reads
// under way, here and below. Errors are those of the source below. Create:
// RESOURCE_EXHAUSTED (the budget), UNAVAILABLE (the volume cannot be read).
class DiskCache final : public storage::ByteSource {
 public:
  struct Options {
    Store::Options store;
    int read_threads = 8;
  };
  struct Surroundings {
    storage::ByteSource* below = nullptr;
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<DiskCache>> Create(
      const Options& options, std::unique_ptr<Volume> volume,
      const Surroundings& surroundings);
  ~DiskCache() override;

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override;

  // Shares the tier's disk among jobs.
  schedule::JobShares* shares() { return &threads_; }

  // Looks whether the disk is too slow: what waits for it is then read below.
  // Read does so, too; this is for when nobody reads for that they all wait.
  // Call it every second or so.
  void Tick() { IsTooSlow(); }

  // Serves the hits that wait, and cancels those that come. From then on the
  // source below is read only by who calls Read, and may go before this does
  // when nobody does so any more. By one thread.
  void Stop();

  disk::Snapshot Snapshot() const;

 private:
  DiskCache(const Options& options, const Surroundings& surroundings,
            base::MemoryReservation memory, std::unique_ptr<Store> store);

  // Whether the tier is left alone now.
  bool IsTooSlow();
  void SourceTook(std::int64_t nanos);

  // Has a counted read in flight served.
  void Queue(ReadThreads::Read hit);
  // A read of no bytes, after which the hit is served if it still is one.
  storage::ReadRequest Asking(ReadThreads::Read hit);
  // On one of the threads.
  absl::StatusOr<base::Bytes> ReadDisk(const ReadThreads::Read& read,
                                       const PageBuffer& scratch);
  void Serve(ReadThreads::Read read, const PageBuffer& scratch);
  // The same request, of which the store keeps what comes.
  storage::ReadRequest Keeping(storage::ReadRequest request);
  // Reads hits below which the disk does not give.
  void ReadBelow(absl::Span<ReadThreads::Read> hits);
  // Returns the purposes that have joined the hit, and notes no more of them.
  std::vector<storage::ReadPurpose> TakeJoined(std::uint64_t ticket);

  void BeginRead();
  void EndRead();

  storage::ByteSource* const below_;
  const base::Clock* const clock_;
  const base::MemoryReservation memory_;
  const std::shared_ptr<storage::BufferPool> buffers_;
  const std::unique_ptr<Store> store_;

  mutable base::Mutex mutex_;
  base::CondVar all_landed_;
  std::uint64_t flights_ ABSL_GUARDED_BY(mutex_) = 0;
  // The purposes that joined each hit under way, by ticket: it may be read
  // below yet.
  std::unordered_map<std::uint64_t, std::vector<storage::ReadPurpose>> joined_
      ABSL_GUARDED_BY(mutex_);
  SlowDiskDetector slow_disk_ ABSL_GUARDED_BY(mutex_);
  CircuitBreaker slow_ ABSL_GUARDED_BY(mutex_){/*borne=*/0};

  ReadThreads threads_;  // the last: they use the rest
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_DISK_CACHE_H_
