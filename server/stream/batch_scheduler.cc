#include "server/stream/batch_scheduler.h"

#include <algorithm>

#include "server/cache/next_use.h"

namespace forebay::stream {

bool BatchScheduler::Begin(std::int64_t now_nanos) {
  bool grows = false;
  for (;;) {
    const BatchRequests requests = AllRequests(now_nanos);
    const auto next = NextRequest(requests);
    if (!next.has_value()) return grows;
    const auto slot = SlotFor(requests[*next], now_nanos, &grows);
    if (!slot.has_value()) return grows;
    BeginIn(*slot, requests[*next], now_nanos);
  }
}

std::optional<BatchRequest> BatchScheduler::RequestOf(
    Member& member, std::int64_t now_nanos) const {
  // A member with so many batches ahead needs no more for now.
  constexpr std::uint32_t kPlenty = 32;
  const Cursor& cursor = member.cursor();
  if (!cursor.running()) return std::nullopt;
  BatchKey key = cursor.next();
  std::uint32_t ahead = 0;
  std::uint32_t hanging = 0;
  std::uint32_t moving = 0;
  for (; cursor.SamplesOf(key) > 0; key = cursor.After(key)) {
    const Batch* const making = in_flight_->Find(key);
    if (making == nullptr && batch_cache_->Find(key) == nullptr) break;
    if (making != nullptr) ++(making->HangsAt(now_nanos) ? hanging : moving);
    if (++ahead == kPlenty) return std::nullopt;
  }
  if (cursor.SamplesOf(key) == 0) return std::nullopt;
  const std::uint32_t ready = member.Account().ready;
  member.SawReady(ready);
  const std::uint32_t leases = batch_cache_->pool().Leases(member.holder());
  const std::uint32_t slots = member.terms().slots;
  const bool open = ready + ahead < member.depth().target() &&
                    leases + in_flight_->MadeFor(member.holder()) < slots;
  const bool hungry = member.Starves(now_nanos) && leases - ready < slots;
  // No member gives way to one whose reads hang, or that a cap may hold up:
  // workers would idle meanwhile.
  const bool idles = member.capped || (!open && hanging > 0 && moving == 0);
  return BatchRequest{.member = member.holder(),
                      .key = key,
                      .position = cursor.PositionOf(key),
                      .left = cursor.epochs()->samples() - key.first_sample,
                      .open = open,
                      .hungry = hungry,
                      .has_nothing = ready + ahead == 0,
                      .claims = hungry && !idles,
                      .served = member.served};
}

BatchScheduler::BatchRequests BatchScheduler::AllRequests(
    std::int64_t now_nanos) const {
  BatchRequests requests;
  for (const auto& member : *members_) {
    if (auto request = RequestOf(*member, now_nanos))
      requests.push_back(*request);
  }
  return requests;
}

void BatchScheduler::BeginIn(std::uint32_t slot, const BatchRequest& request,
                             std::int64_t now_nanos) {
  const Cursor& cursor = members_->Find(request.member)->cursor();
  Batch* const batch = in_flight_->Begin(
      request.key, cursor.SamplesOf(request.key), cursor.epochs(),
      request.member, slot, batch_cache_->pool().data(slot));
  batch->moved_at_nanos = now_nanos;
  // All who soon come to it have their part of it.
  batch->payers = members_->ReadersOf(request.key);
  const double part = 1.0 / static_cast<double>(batch->payers.size());
  for (const arena::MemberId payer : batch->payers)
    members_->Find(payer)->served += part;
}

const CompletedBatch* BatchScheduler::Victim(std::int64_t now_nanos) const {
  return batch_cache_->Victim([&](const BatchKey& kept) {
    return members_->NanosUntil(kept, now_nanos);
  });
}

std::optional<std::uint32_t> BatchScheduler::SlotFor(
    const BatchRequest& request, std::int64_t now_nanos, bool* grows) {
  if (batch_cache_->pool().Counts().free == 0) {
    const CompletedBatch* const victim = Victim(now_nanos);
    if (victim == nullptr) {
      *grows |= Grows();
      return std::nullopt;
    }
    if (members_->NanosUntil(victim->key, now_nanos) != cache::kNever) {
      // Rather one slot more than a batch less that somebody comes to.
      if (members_->AwaitsSoon(victim->key, now_nanos)) *grows |= Grows();
      if (MustStay(*victim, request, now_nanos)) return std::nullopt;
    }
    batch_cache_->Evict(*victim);
  }
  const auto slot = batch_cache_->Take();
  // The next one is made while this one is filled.
  if (members_->was_shared() && batch_cache_->pool().Counts().free == 0) {
    const CompletedBatch* const next = Victim(now_nanos);
    if (next != nullptr && members_->AwaitsSoon(next->key, now_nanos))
      *grows |= Grows();
  }
  return slot;
}

bool BatchScheduler::Grows() {
  return batch_cache_->growing() == 0 &&
         batch_cache_->Grow(members_->was_shared());
}

bool BatchScheduler::MustStay(const CompletedBatch& victim,
                              const BatchRequest& request,
                              std::int64_t now_nanos) const {
  // No worker idles while a trainer waits: who was expected may have stopped,
  // and nobody tells. Else a slot that is being made is worth waiting for; and
  // so is who comes within the time that it takes to make the batch once more,
  // among others.
  const bool hangs = in_flight_->Hangs(now_nanos);
  const bool idle = (request.hungry && (hangs || in_flight_->empty())) ||
                    (request.has_nothing && hangs);
  if (!idle && batch_cache_->growing() > 0) return true;
  const std::int64_t soon = idle ? -1 : 4 * victim.made_nanos;
  return std::any_of(
      members_->begin(), members_->end(), [&](const auto& member) {
        const std::int64_t until = member->NanosUntil(victim.key, now_nanos);
        return until != cache::kNever && victim.key < request.key &&
               (member->holder() == request.member ||
                sharing_mode_ == SharingMode::kLockstep ||
                (until <= soon && !member->capped));
      });
}

}  // namespace forebay::stream
