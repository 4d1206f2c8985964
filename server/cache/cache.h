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

// Keeps in memory what was read, for whoever wants it next, and makes one read
// of several that want the same bytes at once. With what is read comes what
// lies beside it and is wanted soon, where the reader can tell. When there is
// no room for more, what is wanted last makes way; if that is what was just
// read, it is not kept. What is kept is given out only while its object is what
// it was: as the root says, or, where that cannot tell at once, the source.
// What readers made of what they read is kept too, where they offer it, beside
// the bytes that it was made of and weighed against them and all others.
//
// Thread-safe. Owned by the daemon; the budget, the clock and NextUse
// outlive it, and so does the source below as long as anybody reads. What it
// handed out outlives it too, and counts among its memory for that long. Read
// does not block, but for what a root's StillHas takes: a hit is answered
// before it returns. No lock is held while anybody is called. Destruction
// waits for the reads that are under way below. Errors are those of the source
// below: they go to all who wait, and are not kept. Create: RESOURCE_EXHAUSTED,
// the budget has no room for the cache. Tickets of its callers mean nothing to
// it.
class Cache final : public storage::ByteSource,
                    public VariantStore,
                    public schedule::JobShares {
 public:
  struct Options {
    // Bytes. Counts what is kept, what is being read to be kept, and what
    // readers hold of either. Reads that are not kept count among what their
    // readers reserved.
    std::uint64_t capacity = 0;
    // And of these, what other variants of what was read may take.
    std::uint64_t variant_capacity = UINT64_MAX;
    std::uint64_t seed = 0;  // of the draws for eviction
    // CPUs that readers make other variants with: what one of them saves is
    // weighed against time of the source, of which there is one.
    double cpus = 1;
  };
  // What others make that it needs.
  struct Surroundings {
    storage::ByteSource* below = nullptr;
    base::MemoryBudget* budget = nullptr;
    const NextUse* next_use = nullptr;
    const base::Clock* clock = nullptr;
    const base::Clock* cpu_clock = base::Clock::ThreadCpu();
  };

  static absl::StatusOr<std::unique_ptr<Cache>> Create(
      const Options& options, const Surroundings& surroundings);
  ~Cache() override;

  // What keeping the bytes of `request` takes of the capacity.
  static std::uint64_t MemoryFor(const storage::ReadRequest& request);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  // Counts what the job read among the totals alone.
  void Forget(schedule::Flow job) override;

  std::unique_ptr<VariantBuffer> RoomFor(const Offer& offer) override;
  void Keep(std::unique_ptr<VariantBuffer> room) override;
  void Drop(const storage::ReadRequest& read,
            storage::Variant variant) override;

  std::uint64_t capacity() const { return ledger_->capacity(); }
  std::uint64_t variant_capacity() const override {
    return variants_->capacity();
  }
  // CPU time that looking for what was asked took, without what the readers do
  // with it.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // Takes a while for thousands of jobs; reads go on.
  cache::Snapshot Snapshot() const;

 private:
  static constexpr std::size_t kStripes = 16;

  Cache(const Options& options, const Surroundings& surroundings,
        base::MemoryReservation capacity);

  // Bytes that were found, and the reader's callback.
  struct Hit {
    storage::ReadDone done;
    storage::ReadResult result;
  };
  // Of what the request asks for, or of another variant of it.
  static Hit HitOf(storage::ReadRequest& request, storage::Variant variant,
                   std::shared_ptr<const CachedBytes> cached);
  // What comes of the requests of one Read.
  struct Findings {
    std::vector<Hit> hits;  // not yet answered
    std::vector<Miss> misses;
    std::vector<ReadAhead::Occasion> occasions;
    std::vector<storage::ReadRequest> below;  // as they came
  };

  // A variant that was offered, and its place among the stripes' entries.
  class Room;

  // Looks up all of them, which are few, and then answers those that were
  // found.
  void LookUpRun(absl::Span<storage::ReadRequest> requests,
                 std::int64_t now_nanos, Findings* findings);
  // To be read for the request alone, and not to be kept.
  void PassBelow(storage::ReadRequest request, Findings* findings);
  // Finds the variant that the request prefers, or has the request wait for
  // that. False: it is not there.
  bool LookUpVariant(storage::ReadRequest& request, std::int64_t now_nanos,
                     Findings* findings);
  // Finds what the request asks for, or has it wait.
  void LookUp(storage::ReadRequest& request, std::int64_t now_nanos,
              Findings* findings);
  void MakeRooms(std::int64_t now_nanos, std::vector<Miss>* misses);
  void SendBelow(std::vector<Miss> misses,
                 std::vector<storage::ReadRequest> below);
  void Complete(std::size_t stripe,
                const std::shared_ptr<InFlightRead>& in_flight,
                absl::StatusOr<storage::ReadResult> result);

  void CountRead();
  void FlightDone();

  const Surroundings around_;
  const double cpus_;
  ReadCost read_cost_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<Ledger> variants_;  // what they take of it
  std::vector<Stripe> stripes_;             // kStripes of them
  ReuseEstimator reuse_;
  Evictor evictor_;
  ReadAhead read_ahead_;
  std::atomic<std::uint64_t> last_ticket_ = 0;
  std::atomic<std::int64_t> cpu_nanos_ = 0;

  base::Mutex mutex_;
  base::CondVar all_landed_;
  std::uint64_t flights_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CACHE_H_
