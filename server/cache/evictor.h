#ifndef FOREBAY_SERVER_CACHE_EVICTOR_H_
#define FOREBAY_SERVER_CACHE_EVICTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/cache/candidate_set.h"
#include "server/cache/eviction.h"
#include "server/cache/ledger.h"
#include "server/cache/next_use.h"
#include "server/cache/reuse_estimator.h"
#include "server/cache/stripe.h"

namespace forebay::cache {

// Makes room for new entries: draws some of the kept ones, asks when each is
// wanted next, and evicts those that are wanted later than the new one, unless
// they were used, or removed, meanwhile.
//
// Thread-safe. Owned by the cache; what it is made with outlives it, and
// charges may outlive it. Never blocks; asks NextUse, and frees what it
// evicts, without any lock. No errors.
class Evictor {
 public:
  // Candidates for eviction that were drawn together. A caller that needs room
  // several times in a row keeps it between the calls.
  class Draw {
   private:
    friend class Evictor;
    std::vector<CandidateSet::Candidate> candidates_;
    std::vector<std::size_t> stripes_;  // of each
    std::vector<ScoredCandidate> order_;
    std::size_t next_ = 0;  // in the order
  };

  // Entries that were read ahead, and are wanted within so many nanoseconds,
  // are not evicted. Negative: they are treated like the rest.
  using Horizon = std::int64_t;

  // Room for a variant: among all entries, and among the variants.
  struct VariantCharges {
    Charge charge;
    Charge variant_charge;
  };

  // `yield` is told of the variants that are evicted.
  Evictor(std::vector<Stripe>* stripes, std::shared_ptr<Ledger> ledger,
          std::shared_ptr<Ledger> variants, const NextUse* next_use,
          ReuseEstimator* yield, std::uint64_t seed)
      : stripes_(stripes),
        ledger_(std::move(ledger)),
        variants_(std::move(variants)),
        next_use_(next_use),
        yield_(yield),
        seed_(seed) {}

  // Room for the new entry. Returns nullopt if the others are wanted sooner.
  std::optional<Charge> MakeRoom(const EntryMetadata& newcomer,
                                 std::int64_t now_nanos, Draw* draw,
                                 Horizon horizon = -1);
  // Room for a variant that is offered, as MakeRoom. Offers are many: most that
  // are rejected cost next to nothing, and a rejected offer evicts nothing,
  // unless others take the room meanwhile.
  std::optional<VariantCharges> MakeRoomForOffer(const EntryMetadata& newcomer,
                                                 std::int64_t now_nanos);

 private:
  // Evicts entries for the new one. Returns false if none should or can go.
  bool Evict(const EntryMetadata& newcomer, std::int64_t now_nanos, Draw* draw,
             Horizon horizon);
  // MakeRoomForOffer, among all entries.
  std::optional<Charge> MakeRoomAmongAll(const EntryMetadata& newcomer,
                                         double own_cost,
                                         std::int64_t now_nanos);
  // The variants to evict for the new one: those whose cost is above its own.
  // Nullopt: they are too few.
  struct EvictedVariants {
    Draw draw;
    std::size_t count = 0;  // the first so many in its order
    std::uint64_t bytes = 0;
  };
  std::optional<EvictedVariants> VariantsToEvict(std::uint64_t bytes,
                                                 double own_cost,
                                                 std::int64_t now_nanos);
  void Evict(const EvictedVariants& leaving);
  // Returns the bytes that were freed; 0: the entry was used, or removed.
  std::uint64_t GiveUp(
      const Draw& draw, const ScoredCandidate& scored,
      std::vector<std::shared_ptr<const CachedBytes>>* evicted);
  // Candidates in no order.
  Draw DrawUnordered(std::size_t count);
  Draw DrawCandidates(std::int64_t now_nanos);

  std::vector<Stripe>* const stripes_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<Ledger> variants_;
  const NextUse* const next_use_;
  ReuseEstimator* const yield_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> draws_ = 0;
  // The highest cost among those who were drawn last.
  std::atomic<double> highest_cost_ = std::numeric_limits<double>::infinity();
  std::atomic<std::uint64_t> offers_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTOR_H_
