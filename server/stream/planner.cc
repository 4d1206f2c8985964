#include "server/stream/planner.h"

#include <algorithm>

#include "server/cache/next_use.h"

namespace forebay::stream {

bool Planner::Begin(std::int64_t now_nanos) {
  bool grows = false;
  for (;;) {
    const Wishes wishes = AllWishes(now_nanos);
    const auto next = NextWish(wishes);
    if (!next.has_value()) return grows;
    const auto slot = SlotFor(wishes[*next], now_nanos, &grows);
    if (!slot.has_value()) return grows;
    BeginIn(*slot, wishes[*next], now_nanos);
  }
}

std::optional<Wish> Planner::WishOf(Member& member,
                                    std::int64_t now_nanos) const {
  // Who has so many needs no more, and what comes after does not matter yet.
  constexpr std::uint32_t kPlenty = 32;
  const Cursor& cursor = member.cursor();
  if (!cursor.running()) return std::nullopt;
  BatchKey key = cursor.next();
  std::uint32_t ahead = 0;
  std::uint32_t hanging = 0;
  std::uint32_t moving = 0;
  for (; cursor.SamplesOf(key) > 0; key = cursor.After(key)) {
    const Batch* const making = line_->Find(key);
    if (making == nullptr && stock_->Find(key) == nullptr) break;
    if (making != nullptr) ++(making->HangsAt(now_nanos) ? hanging : moving);
    if (++ahead == kPlenty) return std::nullopt;
  }
  if (cursor.SamplesOf(key) == 0) return std::nullopt;
  const std::uint32_t ready = member.Account().ready;
  member.SawReady(ready);
  const std::uint32_t leases = stock_->pool().Leases(member.holder());
  const std::uint32_t slots = member.terms().slots;
  const bool open = ready + ahead < member.depth().target() &&
                    leases + line_->MadeFor(member.holder()) < slots;
  const bool hungry = member.Starves(now_nanos) && leases - ready < slots;
  // For whose sake workers would idle, nobody gives way to it: whose reads
  // hang, and whom a cap may hold up.
  const bool idles = member.capped || (!open && hanging > 0 && moving == 0);
  return Wish{.member = member.holder(),
              .key = key,
              .position = cursor.PositionOf(key),
              .left = cursor.course()->samples() - key.first_sample,
              .open = open,
              .hungry = hungry,
              .has_nothing = ready + ahead == 0,
              .claims = hungry && !idles,
              .served = member.served};
}

Planner::Wishes Planner::AllWishes(std::int64_t now_nanos) const {
  Wishes wishes;
  for (const auto& member : *audience_) {
    if (auto wish = WishOf(*member, now_nanos)) wishes.push_back(*wish);
  }
  return wishes;
}

void Planner::BeginIn(std::uint32_t slot, const Wish& wish,
                      std::int64_t now_nanos) {
  const Cursor& cursor = audience_->Find(wish.member)->cursor();
  Batch* const batch =
      line_->Begin(wish.key, cursor.SamplesOf(wish.key), cursor.course(),
                   wish.member, slot, stock_->pool().data(slot));
  batch->moved_at_nanos = now_nanos;
  // All who soon come to it have their part of it.
  batch->payers = audience_->WhoComesTo(wish.key);
  const double part = 1.0 / static_cast<double>(batch->payers.size());
  for (const arena::Holder payer : batch->payers)
    audience_->Find(payer)->served += part;
}

const Finished* Planner::Victim(std::int64_t now_nanos) const {
  return stock_->Victim([&](const BatchKey& kept) {
    return audience_->NanosUntil(kept, now_nanos);
  });
}

std::optional<std::uint32_t> Planner::SlotFor(const Wish& wish,
                                              std::int64_t now_nanos,
                                              bool* grows) {
  if (stock_->pool().Counts().free == 0) {
    const Finished* const victim = Victim(now_nanos);
    if (victim == nullptr) {
      *grows |= Grows();
      return std::nullopt;
    }
    if (audience_->NanosUntil(victim->key, now_nanos) != cache::kNever) {
      // Rather one slot more than a batch less that somebody comes to.
      if (audience_->AwaitsSoon(victim->key, now_nanos)) *grows |= Grows();
      if (MustStay(*victim, wish, now_nanos)) return std::nullopt;
    }
    stock_->Evict(*victim);
  }
  const auto slot = stock_->Take();
  // The next one is made while this one is filled.
  if (audience_->was_shared() && stock_->pool().Counts().free == 0) {
    const Finished* const next = Victim(now_nanos);
    if (next != nullptr && audience_->AwaitsSoon(next->key, now_nanos))
      *grows |= Grows();
  }
  return slot;
}

bool Planner::Grows() {
  return stock_->growing() == 0 && stock_->Grow(audience_->was_shared());
}

bool Planner::MustStay(const Finished& victim, const Wish& wish,
                       std::int64_t now_nanos) const {
  // No worker idles while a trainer waits: who was expected may have stopped,
  // and nobody tells. Else a slot that is being made is worth waiting for; and
  // so is who comes within the time that it takes to make the batch once more,
  // among others.
  const bool hangs = line_->Hangs(now_nanos);
  const bool idle =
      (wish.hungry && (hangs || line_->empty())) || (wish.has_nothing && hangs);
  if (!idle && stock_->growing() > 0) return true;
  const std::int64_t soon = idle ? -1 : 4 * victim.made_nanos;
  return std::any_of(
      audience_->begin(), audience_->end(), [&](const auto& member) {
        const std::int64_t until = member->NanosUntil(victim.key, now_nanos);
        return until != cache::kNever && victim.key < wish.key &&
               (member->holder() == wish.member ||
                pairing_ == Pairing::kLockstep ||
                (until <= soon && !member->capped));
      });
}

}  // namespace forebay::stream
