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
#include "server/cache/evictor.h"
#include "server/cache/last_look.h"
#include "server/cache/ledger.h"
#include "server/cache/miss.h"
#include "server/cache/next_use.h"
#include "server/cache/read_ahead.h"
#include "server/cache/read_cost.h"
#include "server/cache/reuse_estimator.h"
#include "server/cache/snapshot.h"
#include "server/cache/stripe.h"
#include "server/cache/variant_store.h"
#include "server/schedule/job_shares.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Caches in memory the bytes that were read, and merges concurrent reads of the
// same bytes into one. On a miss, the cache also reads the neighbours that the
// request's read-ahead hints name and that are wanted soon. When full, it
// evicts the entries that are wanted last. Bytes that are wanted later than all
// entries are not cached. A hit is given out only while its object still has
// the version and revision that were read. The root says so, or, where it
// cannot tell at once, the source does. The cache also holds decoded variants
// that readers offer. A variant's cost competes with that of all other entries.
//
// Thread-safe. Owned by the daemon. The budget, the clock and NextUse outlive
// it; the source below outlives all reads. Bytes that the cache gave out may
// outlive it, and count among its memory until they are released. Read does not
// block, except in the root's StillHas; hits are answered before it returns. No
// lock is held during a callback. The destructor waits for the reads in flight
// below. Errors are those of the source below: all waiters get them, and they
// are not cached. Create returns RESOURCE_EXHAUSTED if the budget has no memory
// for the cache. Share finds the read below that the ticket's request began,
// but none that the request merely joined.
class Cache final : public storage::ByteSource,
                    public VariantStore,
                    public schedule::JobShares {
 public:
  struct Options {
    // Bytes. Counts what is cached, what is being read to be cached, and what
    // readers hold of either. Reads that are not cached count among the memory
    // that their readers reserved.
    std::uint64_t capacity = 0;
    // The part of `capacity` that variants may take.
    std::uint64_t variant_capacity = UINT64_MAX;
    std::uint64_t seed = 0;  // of the random draws for eviction
    // The CPUs that make variants. The CPU time that a variant saves is divided
    // by them to compare it with time of the source, of which there is one.
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
  // Moves the job's counts to the totals.
  void Forget(schedule::Flow job) override;

  std::unique_ptr<VariantBuffer> Reserve(const Offer& offer) override;
  void Insert(std::unique_ptr<VariantBuffer> buffer) override;
  void Drop(const storage::ReadRequest& read,
            storage::Variant variant) override;

  std::uint64_t capacity() const { return ledger_->capacity(); }
  std::uint64_t variant_capacity() const override {
    return variants_->capacity();
  }
  // Returns the CPU time of all lookups, without that of the callbacks.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // Takes long with thousands of jobs; reads continue meanwhile.
  cache::Snapshot Snapshot() const;

 private:
  static constexpr std::size_t kStripes = 16;

  Cache(const Options& options, const Deps& deps,
        base::MemoryReservation capacity);

  // A hit that is not yet answered.
  struct Hit {
    storage::ReadDone done;
    storage::ReadResult result;
  };
  // The hit of a request, in the variant that was found.
  static Hit HitOf(storage::ReadRequest& request, storage::Variant variant,
                   std::shared_ptr<const CachedBytes> cached);
  // The outcome of the lookups of one Read.
  struct LookupResults {
    LastLook look;
    std::vector<Hit> hits;
    std::vector<Miss> misses;
    std::vector<ReadAhead::Trigger> triggers;
    std::vector<storage::ReadRequest> below;  // not to be cached
  };

  // A variant's memory, with its charges and the entry that it is to become.
  class ChargedBuffer;

  // Looks up a few requests, and then answers the hits among them.
  void LookUpRun(absl::Span<storage::ReadRequest> requests,
                 std::int64_t now_nanos, LookupResults* results);
  // Finds the variant that the request prefers, or joins the check whether it
  // is current. Returns false if the variant is not cached.
  bool LookUpVariant(storage::ReadRequest& request, std::int64_t now_nanos,
                     LookupResults* results);
  // Finds the bytes of the request, or joins the read in flight.
  void LookUp(storage::ReadRequest& request, std::int64_t now_nanos,
              LookupResults* results);
  void MakeSpaceForAll(std::int64_t now_nanos, std::vector<Miss>* misses);
  void SendBelow(std::vector<Miss> misses,
                 std::vector<storage::ReadRequest> below);
  void Complete(std::size_t stripe,
                const std::shared_ptr<InFlightRead>& in_flight,
                absl::StatusOr<storage::ReadResult> result);

  void BeginRead();
  void EndRead();

  const Deps deps_;
  const double cpus_;
  ReadCost read_cost_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<Ledger> variants_;  // the part that variants take
  std::vector<Stripe> stripes_;             // kStripes of them
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
