#ifndef FOREBAY_SERVER_CACHE_LANDLORD_H_
#define FOREBAY_SERVER_CACHE_LANDLORD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/cache/eviction.h"
#include "server/cache/form_yield.h"
#include "server/cache/ledger.h"
#include "server/cache/next_use.h"
#include "server/cache/roster.h"
#include "server/cache/shard.h"

namespace forebay::cache {

// Makes room for newcomers: draws some of what is kept, asks the oracle when
// each is wanted, and gives up what is wanted later than the newcomer, unless
// it was used, or taken, meanwhile.
//
// Thread-safe. Owned by the cache; what it is made with outlives it, and
// charges may outlive it. Never blocks; calls the oracle, and frees what is
// given up, without any lock. No errors.
class Landlord {
 public:
  // Candidates for eviction, drawn together: who needs room several times in a
  // row keeps it between the calls.
  class Draw {
   private:
    friend class Landlord;
    std::vector<Roster::Candidate> candidates_;
    std::vector<std::size_t> shards_;  // of each
    std::vector<Bid> order_;
    std::size_t next_ = 0;  // in the order
  };

  // Of what is wanted within so many nanoseconds, none is given up that was
  // read ahead. Negative: it is treated like the rest.
  using Horizon = std::int64_t;

  // Room for a form: among all, and among the forms.
  struct FormRent {
    Charge charge;
    Charge form_charge;
  };

  // `yield` is told of the forms that leave.
  Landlord(std::vector<Shard>* shards, std::shared_ptr<Ledger> ledger,
           std::shared_ptr<Ledger> forms, const NextUse* next_use,
           FormYield* yield, std::uint64_t seed)
      : shards_(shards),
        ledger_(std::move(ledger)),
        forms_(std::move(forms)),
        next_use_(next_use),
        yield_(yield),
        seed_(seed) {}

  // Room for the newcomer; nullopt if others are wanted sooner.
  std::optional<Charge> MakeRoom(const Holding& newcomer,
                                 std::int64_t now_nanos, Draw* draw,
                                 Horizon horizon = -1);
  // Room for what its reader can do without, and offers whenever it could have
  // it: as MakeRoom, but most offers in vain cost next to nothing, and nobody
  // is evicted for one, unless others take the room meanwhile.
  std::optional<FormRent> MakeRoomForOffer(const Holding& newcomer,
                                           std::int64_t now_nanos);

 private:
  // Evicts who should make room for the newcomer. False: nobody should, or can.
  bool Evict(const Holding& newcomer, std::int64_t now_nanos, Draw* draw,
             Horizon horizon);
  // MakeRoomForOffer, among all that is kept.
  std::optional<Charge> MakeRoomAmongAll(const Holding& newcomer,
                                         double own_rent,
                                         std::int64_t now_nanos);
  // Forms that would make room for the newcomer among the forms: those whose
  // rent is above its own. Nullopt: they are too few.
  struct LeavingForms {
    Draw draw;
    std::size_t count = 0;  // the first so many in its order
    std::uint64_t bytes = 0;
  };
  std::optional<LeavingForms> FormsToLeave(std::uint64_t bytes, double own_rent,
                                           std::int64_t now_nanos);
  void Evict(const LeavingForms& leaving);
  // How much that made; 0: it was used, or taken.
  std::uint64_t GiveUp(const Draw& draw, const Bid& bid,
                       std::vector<std::shared_ptr<const Held>>* evicted);
  // Candidates that were not ordered yet.
  Draw DrawUnordered(std::size_t count);
  Draw DrawCandidates(std::int64_t now_nanos);

  std::vector<Shard>* const shards_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<Ledger> forms_;
  const NextUse* const next_use_;
  FormYield* const yield_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> draws_ = 0;
  // The highest rent among those who were drawn last.
  std::atomic<double> highest_rent_ = std::numeric_limits<double>::infinity();
  std::atomic<std::uint64_t> offers_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LANDLORD_H_
