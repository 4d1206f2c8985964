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

// Makes space for new entries. Draws some entries, asks NextUse about them, and
// evicts those that are wanted later than the new one, unless they were used or
// removed meanwhile.
//
// Thread-safe. Owned by the cache. The arguments of its constructor outlive it;
// charges may outlive it. Never blocks: calls NextUse, and frees evicted
// entries, without any lock. No errors.
class Evictor {
 public:
  // Candidates for eviction that were drawn together. A caller that needs space
  // several times in a row reuses one.
  class Draw {
   private:
    friend class Evictor;
    std::vector<CandidateSet::Candidate> candidates_;
    std::vector<std::size_t> stripes_;  // of each candidate
    std::vector<ScoredCandidate> order_;
    std::size_t next_ = 0;  // in order_
  };

  // Entries that were read ahead and are wanted within that many nanoseconds
  // are not evicted. If negative, they are treated like all others.
  using Horizon = std::int64_t;

  // The charges of a variant: among all entries, and among the variants.
  struct VariantCharges {
    Charge charge;
    Charge variant_charge;
  };

  // `reuse` records the variants that are evicted.
  Evictor(std::vector<Stripe>* stripes, std::shared_ptr<Ledger> ledger,
          std::shared_ptr<Ledger> variants, const NextUse* next_use,
          ReuseEstimator* reuse, std::uint64_t seed)
      : stripes_(stripes),
        ledger_(std::move(ledger)),
        variants_(std::move(variants)),
        next_use_(next_use),
        reuse_(reuse),
        seed_(seed) {}

  // Charges the new entry. Returns nullopt if the others are wanted sooner.
  std::optional<Charge> MakeSpace(const EntryMetadata& newcomer,
                                  std::int64_t now_nanos, Draw* draw,
                                  Horizon horizon = -1);
  // Like MakeSpace, for a variant that is offered. Offers are frequent: most
  // rejections cost next to nothing. A rejected offer evicts nothing, unless
  // other threads take the freed memory first.
  std::optional<VariantCharges> MakeSpaceForOffer(const EntryMetadata& newcomer,
                                                  std::int64_t now_nanos);

 private:
  // Evicts entries for the new one. Returns false if none should or can be
  // evicted.
  bool Evict(const EntryMetadata& newcomer, std::int64_t now_nanos, Draw* draw,
             Horizon horizon);
  // The part of MakeSpaceForOffer that concerns all entries.
  std::optional<Charge> MakeSpaceAmongAll(const EntryMetadata& newcomer,
                                          double own_cost,
                                          std::int64_t now_nanos);
  // The variants to evict for a new one: those whose cost is above its own.
  // Returns nullopt if they free too few bytes.
  struct VariantVictims {
    Draw draw;
    std::size_t count = 0;  // of the first victims in the order
    std::uint64_t bytes = 0;
  };
  std::optional<VariantVictims> VariantsToEvict(std::uint64_t bytes,
                                                double own_cost,
                                                std::int64_t now_nanos);
  void Evict(const VariantVictims& victims);
  // Returns the bytes that were freed; 0 if the entry was used or removed.
  std::uint64_t EvictCandidate(
      const Draw& draw, const ScoredCandidate& scored,
      std::vector<std::shared_ptr<const CachedBytes>>* evicted);
  // Draws candidates without an order.
  Draw DrawUnordered(std::size_t count);
  Draw DrawCandidates(std::int64_t now_nanos);

  std::vector<Stripe>* const stripes_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<Ledger> variants_;
  const NextUse* const next_use_;
  ReuseEstimator* const reuse_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> draws_ = 0;
  // The highest cost in the last draw.
  std::atomic<double> highest_cost_ = std::numeric_limits<double>::infinity();
  std::atomic<std::uint64_t> offers_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTOR_H_
