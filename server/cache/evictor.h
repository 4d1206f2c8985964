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
#include "server/cache/memory_ledger.h"
#include "server/cache/next_use.h"
#include "server/cache/reuse_estimator.h"
#include "server/cache/stripe.h"

namespace forebay::cache {

// Makes space for new entries. The evictor draws some entries and asks NextUse
// about them. Entries whose cost of keeping is above that of the new entry are
// evicted, unless they were used or removed meanwhile.
//
// Thread-safe. The cache owns it. The arguments of its constructor outlive it;
// charges may outlive it. Never blocks: it calls NextUse, and frees evicted
// entries, without any lock. Has no errors.
class Evictor {
 public:
  // Candidates for eviction that were drawn together. A caller that needs space
  // several times in a row reuses one Draw.
  class Draw {
   private:
    friend class Evictor;
    std::vector<CandidateSet::Candidate> candidates_;
    std::vector<std::size_t> stripes_;    // the stripe of each candidate
    std::vector<ScoredCandidate> order_;  // in the order of eviction
    std::size_t next_ = 0;  // index in order_ of the next to evict
  };

  // A time in nanoseconds. Entries that were read ahead and are wanted within
  // this time are not evicted. A negative horizon protects no entry.
  using Horizon = std::int64_t;

  // The charges of a variant's memory. `charge` counts it among all entries.
  // `variant_charge` counts it among the variants, which have a limit of their
  // own.
  struct VariantCharges {
    Charge charge;
    Charge variant_charge;
  };

  // Creates an evictor of the entries of `stripes`. `ledger` counts the memory
  // of all entries, and `variants` counts the memory of variants. The evictor
  // records each evicted variant in `reuse`.
  Evictor(std::vector<Stripe>* stripes, std::shared_ptr<MemoryLedger> ledger,
          std::shared_ptr<MemoryLedger> variants, const NextUse* next_use,
          ReuseEstimator* reuse, std::uint64_t seed)
      : stripes_(stripes),
        ledger_(std::move(ledger)),
        variants_(std::move(variants)),
        next_use_(next_use),
        reuse_(reuse),
        seed_(seed) {}

  // Charges the memory of a new entry, evicting other entries for it if memory
  // is short. Returns nullopt if the other entries are wanted sooner.
  std::optional<Charge> MakeSpace(const EntryMetadata& newcomer,
                                  std::int64_t now_nanos, Draw* draw,
                                  Horizon horizon = -1);
  // Charges the memory of an offered variant, or returns nullopt if the entries
  // that it would displace are worth more. Offers are frequent, so most
  // rejections cost next to nothing. A rejected offer evicts nothing, unless
  // another thread has taken the freed memory.
  std::optional<VariantCharges> MakeSpaceForOffer(const EntryMetadata& newcomer,
                                                  std::int64_t now_nanos);

 private:
  // Evicts entries for the new one. Returns false if no entry should or can be
  // evicted.
  bool Evict(const EntryMetadata& newcomer, std::int64_t now_nanos, Draw* draw,
             Horizon horizon);
  // Charges an offered variant to the memory of all entries, and evicts for it
  // entries whose cost is above `own_cost`. Returns nullopt if these entries
  // would free too little.
  std::optional<Charge> MakeSpaceAmongAll(const EntryMetadata& newcomer,
                                          double own_cost,
                                          std::int64_t now_nanos);
  // Variants to evict for a new variant.
  struct VariantVictims {
    Draw draw;
    std::size_t count = 0;    // to evict: the first of `draw.order_`
    std::uint64_t bytes = 0;  // of memory that they free
  };
  // Chooses as many variants whose cost is above `own_cost` as must be evicted
  // until `bytes` of the variants' memory are free. Returns nullopt if all such
  // variants free too few bytes.
  std::optional<VariantVictims> VariantsToEvict(std::uint64_t bytes,
                                                double own_cost,
                                                std::int64_t now_nanos);
  // Evicts the variants that were chosen, unless they were used since.
  void Evict(const VariantVictims& victims);
  // Evicts one candidate and appends its bytes to `evicted`. Returns how many
  // bytes that frees; 0 if the entry is in use, or was used or removed since.
  std::uint64_t EvictCandidate(
      const Draw& draw, const ScoredCandidate& scored,
      std::vector<std::shared_ptr<const CachedBytes>>* evicted);
  // Draws up to `count` candidates, in no order. Does not ask for their next
  // use.
  Draw DrawUnordered(std::size_t count);
  // Draws candidates, and puts them in the order of eviction.
  Draw DrawCandidates(std::int64_t now_nanos);

  std::vector<Stripe>* const stripes_;
  const std::shared_ptr<MemoryLedger> ledger_;
  const std::shared_ptr<MemoryLedger> variants_;
  const NextUse* const next_use_;
  ReuseEstimator* const reuse_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> draws_ = 0;
  // The highest cost in the last draw. An offer with a higher cost is hopeless.
  std::atomic<double> highest_cost_ = std::numeric_limits<double>::infinity();
  std::atomic<std::uint64_t> offers_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTOR_H_
