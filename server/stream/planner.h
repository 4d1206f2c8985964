#ifndef FOREBAY_SERVER_STREAM_PLANNER_H_
#define FOREBAY_SERVER_STREAM_PLANNER_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "server/stream/agenda.h"
#include "server/stream/audience.h"
#include "server/stream/batch.h"
#include "server/stream/member.h"
#include "server/stream/pairing.h"
#include "server/stream/production_line.h"
#include "server/stream/stock.h"

namespace forebay::stream {

// Decides what is made next: which batch, for which member, and in which slot.
// The agenda says whose wish is granted; a slot that is free is taken, or a
// kept batch makes way, or one slot more is to be made.
//
// Not thread-safe: the stream guards it, and what it plans for, which outlives
// it. Never blocks; no errors.
class Planner {
 public:
  Planner(Pairing pairing, Audience* audience, Stock* stock,
          ProductionLine* line)
      : pairing_(pairing), audience_(audience), stock_(stock), line_(line) {}

  // Begins the batches that are wished for, as long as there are slots. True if
  // one slot more is to be made meanwhile.
  bool Begin(std::int64_t now_nanos);

  // What of the member's epoch is neither there nor in the making; nullopt: it
  // has no epoch under way, or all that it will need soon.
  std::optional<Wish> WishOf(Member& member, std::int64_t now_nanos) const;

  // Whether the batch is made, or in the making.
  bool IsThere(const BatchKey& key) const {
    return stock_->Find(key) != nullptr || line_->Find(key) != nullptr;
  }

 private:
  // Mostly of one member: after each sample somebody asks.
  using Wishes = absl::InlinedVector<Wish, 2>;

  Wishes AllWishes(std::int64_t now_nanos) const;
  std::optional<std::uint32_t> SlotFor(const Wish& wish, std::int64_t now_nanos,
                                       bool* grows);
  // The kept batch that is wanted last; null: none can go.
  const Finished* Victim(std::int64_t now_nanos) const;
  // Whether to have one more slot made: none is under way, and there is memory.
  bool Grows();
  // Whether the wish rather waits than that the victim, which somebody comes
  // to, goes.
  bool MustStay(const Finished& victim, const Wish& wish,
                std::int64_t now_nanos) const;
  void BeginIn(std::uint32_t slot, const Wish& wish, std::int64_t now_nanos);

  const Pairing pairing_;
  Audience* const audience_;
  Stock* const stock_;
  ProductionLine* const line_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PLANNER_H_
