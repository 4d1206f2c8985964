#ifndef FOREBAY_SERVER_CACHE_CACHE_H_
#define FOREBAY_SERVER_CACHE_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/cache/cache_snapshot.h"
#include "server/cache/evictor.h"
#include "server/cache/last_look.h"
#include "server/cache/memory_ledger.h"
#include "server/cache/miss.h"
#include "server/cache/next_use.h"
#include "server/cache/read_ahead.h"
#include "server/cache/read_cost.h"
#include "server/cache/reuse_estimator.h"
#include "server/cache/stripe.h"
#include "server/cache/variant_store.h"
#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Caches in memory the bytes that were read, and merges concurrent reads of the
// same bytes into one. On a miss, the cache also reads the neighbours that the
// request's read-ahead hints name and that are wanted soon. When full, the
// cache evicts the entries that are wanted last; bytes that are wanted later
// than all entries are not cached. Cached bytes are given out only while their
// object still has the version and revision at which they were read. To find
// out, the cache asks the root, or the source below if the root cannot tell
// without blocking. The cache also stores variants, such as decoded images,
// that readers offer. Variants compete with all other entries for memory.
//
// Thread-safe. No lock is held during a callback.
//
// The daemon owns the cache. The budget, the clock and NextUse outlive it; the
// source below outlives all reads. Bytes that the cache gave out may outlive
// it. Such bytes count as memory of the cache until their readers release them.
// "A read below" means a read of the source below.
//
// Read does not block, except in the root's StillHas. Hits are answered before
// Read returns. The destructor waits for the reads below that are in flight.
//
// Errors are those of the source below: all waiters of a read get the error,
// and errors are not cached. Create returns RESOURCE_EXHAUSTED if the budget
// has no memory for the cache. Share reaches the read below that the ticket's
// request began. Share does not reach a read that the request merely joined.
class Cache final : public storage::ByteSource,
                    public VariantStore,
                    public schedule::JobShares {
 public:
  struct Options {
    // The most bytes of memory that the cache takes: for bytes that are cached
    // or being read to be cached, and for cached bytes that were evicted but
    // are still held by readers. Bytes that are read without being cached count
    // as memory of their readers.
    std::uint64_t capacity = 0;
    // The most bytes of `capacity` that variants may take.
    std::uint64_t variant_capacity = UINT64_MAX;
    std::uint64_t seed = 0;  // of the random draws for eviction
    // The number of CPUs that make variants. The CPU time that a variant saves
    // is divided by `cpus` before it is compared with the time of the source.
    double cpus = 1;
  };
  struct Deps {
    storage::ByteSource* below = nullptr;
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
    const base::Clock* cpu_clock = base::Clock::ThreadCpu();
  };

  static absl::StatusOr<std::unique_ptr<Cache>> Create(const Options& options,
                                                       const Deps& deps);
  ~Cache() override;

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    deps_.below->Share(ticket, purpose);
  }
  // Adds the counts of `job` to those of forgotten jobs, and removes the job's
  // own counts.
  void Forget(schedule::Flow job) override;

  std::unique_ptr<VariantBuffer> Reserve(const Offer& offer) override;
  void Insert(std::unique_ptr<VariantBuffer> buffer) override;
  void Drop(const storage::ReadRequest& read,
            storage::Variant variant) override;

  std::uint64_t capacity() const { return ledger_->capacity(); }
  std::uint64_t variant_capacity() const override {
    return variants_->capacity();
  }
  // Returns the CPU time of all lookups in nanoseconds, without the CPU time of
  // the callbacks.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // Returns the sums of all stripes' counters. The stripes are locked one after
  // another, so reads continue meanwhile. With thousands of jobs this takes
  // long.
  cache::CacheSnapshot Snapshot() const;

 private:
  // Enough stripes that threads rarely wait for each other's lock.
  static constexpr std::size_t kStripes = 16;

  Cache(const Options& options, const Deps& deps,
        base::MemoryReservation capacity);

  // A hit that is not yet answered.
  struct Hit {
    storage::ReadDone done;
    storage::ReadResult result;
  };
  // Returns the hit of a request, whose bytes are `cached`, in the form
  // `variant`.
  static Hit HitOf(storage::ReadRequest& request, storage::Variant variant,
                   std::shared_ptr<const CachedBytes> cached);
  // The outcome of the lookups of one Read.
  struct LookupResults {
    LastLook look;
    std::vector<Hit> hits;
    std::vector<Miss> misses;
    std::vector<ReadAhead::Trigger> triggers;
    std::vector<storage::ReadRequest> below;  // requests not to be cached
  };

  // A variant's memory, with its charges and the entry that it is to become.
  class ChargedBuffer;

  // Looks up a few requests, and then answers the hits among them.
  void LookUpRun(absl::Span<storage::ReadRequest> requests,
                 std::int64_t now_nanos, LookupResults* results);
  // Finds the variant that the request prefers, or joins a check whether the
  // variant is current. Returns false if the variant is not cached.
  bool LookUpVariant(storage::ReadRequest& request, std::int64_t now_nanos,
                     LookupResults* results);
  // Finds the bytes of the request, or joins the read in flight.
  void LookUp(storage::ReadRequest& request, std::int64_t now_nanos,
              LookupResults* results);
  // Charges the memory of each miss, evicting entries where it must.
  void MakeSpaceForAll(std::int64_t now_nanos, std::vector<Miss>* misses);
  // Sends the reads of the misses, and the requests that are not to be cached,
  // to the source below in one call.
  void SendBelow(std::vector<Miss> misses,
                 std::vector<storage::ReadRequest> below);
  // Ends a read of the source below. Caches its bytes if memory was charged for
  // them, and answers all waiters.
  void Complete(std::size_t stripe,
                const std::shared_ptr<InFlightRead>& in_flight,
                absl::StatusOr<storage::ReadResult> result);

  // Counts a read below, for which the destructor waits until EndRead.
  void BeginRead();
  void EndRead();

  const Deps deps_;
  const double cpus_;
  ReadCost read_cost_;
  const std::shared_ptr<MemoryLedger> ledger_;
  const std::shared_ptr<MemoryLedger> variants_;  // the part that variants take
  std::vector<Stripe> stripes_;                   // kStripes of them
  ReuseEstimator reuse_;
  Evictor evictor_;
  ReadAhead read_ahead_;
  std::atomic<std::int64_t> cpu_nanos_ = 0;

  base::Mutex mutex_;
  base::CondVar all_reads_done_;
  std::uint64_t reads_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CACHE_H_
