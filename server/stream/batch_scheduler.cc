#include "server/stream/batch_scheduler.h"

#include <algorithm>
#include <vector>

#include "server/cache/next_use.h"

namespace forebay::stream {

bool BatchScheduler::Begin(std::int64_t now_nanos) {
  bool grows = false;
  is_held_ = Holds(now_nanos);
  if (is_held_) return grows;
  for (;;) {
    BatchRequests requests = TakeRequests(now_nanos);
    if (is_live_) KeepInOrder(&requests);
    const auto next = NextRequest(requests);
    if (!next.has_value()) return grows;
    const auto slot = SlotFor(requests[*next], now_nanos, &grows);
    if (!slot.has_value()) return grows;
    BeginIn(*slot, requests[*next], now_nanos);
  }
}

std::optional<BatchScheduler::Missing> BatchScheduler::FindMissing(
    const Member& member, std::int64_t now_nanos) const {
  // A member with this many batches ahead needs no more for now.
  constexpr std::uint32_t kPlenty = 32;
  const Cursor& cursor = member.cursor();
  if (!cursor.running()) return std::nullopt;
  Missing missing{.key = cursor.next()};
  for (; cursor.SamplesOf(missing.key) > 0;
       missing.key = cursor.After(missing.key)) {
    if (IsGone(missing.key)) continue;
    const Batch* const making = in_flight_->Find(missing.key);
    if (making == nullptr && batch_cache_->Find(missing.key) == nullptr)
      return missing;
    if (making != nullptr)
      ++(making->HangsAt(now_nanos) ? missing.hanging : missing.moving);
    if (++missing.ahead == kPlenty && !is_live_) return std::nullopt;
  }
  return std::nullopt;
}

std::uint64_t BatchScheduler::AskedFor(const Member& member) const {
  // The search ends after this many batches: the next uses of samples further
  // away evict nothing.
  constexpr int kMaxBatches = 64;
  const Cursor& cursor = member.cursor();
  BatchKey key = cursor.next();
  for (int i = 0; i < kMaxBatches && cursor.SamplesOf(key) > 0; ++i) {
    if (batch_cache_->Find(key) == nullptr) {
      const Batch* const batch = in_flight_->Find(key);
      if (batch == nullptr) break;
      if (batch->handed_out < batch->samples.size())
        return key.first_sample + batch->handed_out;
    }
    key = cursor.After(key);
  }
  return key.first_sample;
}

bool BatchScheduler::IsGone(const BatchKey& key) const {
  return is_live_ && key.epoch == gone_.epoch && key < gone_ &&
         in_flight_->Find(key) == nullptr && batch_cache_->Find(key) == nullptr;
}

BatchKey BatchScheduler::StartFor(const BatchKey& asked,
                                  std::uint64_t samples_per_epoch) {
  if (!is_live_) return asked;
  // While no member runs, no batch counts as gone: the worker still has the
  // batches that it had when the last member left.
  if (members_->Running() == 0) gone_ = BatchKey();
  if (asked.first_sample < samples_per_epoch) return asked;
  std::optional<BatchKey> latest;
  for (const auto& member : *members_) {
    const Cursor& cursor = member->cursor();
    if (!cursor.running()) continue;
    latest = std::max(latest.value_or(cursor.next()), cursor.next());
  }
  return latest.value_or(frontier_);
}

std::optional<slots::MemberId> BatchScheduler::HeirOf(const BatchKey& key) {
  const std::vector<slots::MemberId> heirs = members_->ReadersOf(key);
  if (!heirs.empty()) return heirs.front();
  if (!is_live_) return std::nullopt;
  // A batch of a live dataset cannot be made again. The first member that has
  // yet to come to the batch inherits it, however far behind that member is.
  const auto heir =
      std::find_if(members_->begin(), members_->end(), [&](const auto& member) {
        return member->cursor().BatchesUntil(key).has_value();
      });
  if (heir != members_->end()) return (*heir)->id();
  const auto resting_member = RestingMemberOf(key);
  if (!resting_member.has_value()) gone_ = std::min(gone_, key);
  return resting_member;
}

void BatchScheduler::PassOver() {
  if (!is_live_) return;
  for (const auto& member : *members_) {
    while (member->cursor().running() && IsGone(member->cursor().next()))
      member->PassOver();
  }
}

BatchRequest BatchScheduler::RequestFor(Member& member, const Missing& missing,
                                        std::int64_t now_nanos) const {
  const Cursor& cursor = member.cursor();
  const std::uint32_t ready = member.Account();
  const std::uint32_t leases = batch_cache_->pool().Leases(member.id());
  const std::uint32_t slots = member.terms().slots;
  const bool open = ready + missing.ahead < member.depth().target() &&
                    leases + in_flight_->CountPaidBy(member.id()) < slots;
  const bool hungry = member.Starves(now_nanos) && leases - ready < slots;
  // No member gives way to one whose reads hang, or that a cap may hold up:
  // threads would idle meanwhile.
  const bool idles =
      member.capped || (!open && missing.hanging > 0 && missing.moving == 0);
  return {.member = member.id(),
          .key = missing.key,
          .position = cursor.PositionOf(missing.key),
          .left = cursor.epochs()->samples() - missing.key.first_sample,
          .open = open,
          .hungry = hungry,
          .has_nothing = ready + missing.ahead == 0,
          .claims = hungry && !idles,
          .served = member.served};
}

BatchScheduler::BatchRequests BatchScheduler::TakeRequests(
    std::int64_t now_nanos) {
  BatchRequests requests;
  for (const auto& member : *members_) {
    const auto missing = FindMissing(*member, now_nanos);
    if (!missing.has_value()) continue;
    member->SawReady(member->Account());
    requests.push_back(RequestFor(*member, *missing, now_nanos));
  }
  return requests;
}

void BatchScheduler::KeepInOrder(BatchRequests* requests) const {
  const auto keep = [&](const auto& is_kept) {
    requests->erase(
        std::stable_partition(requests->begin(), requests->end(), is_kept),
        requests->end());
  };
  if (sharing_mode_ != SharingMode::kLockstep)
    keep([](const BatchRequest& request) { return request.open; });
  if (requests->empty()) return;
  const auto is_before = [](const BatchRequest& one,
                            const BatchRequest& other) {
    return one.key < other.key;
  };
  const BatchKey first =
      std::min_element(requests->begin(), requests->end(), is_before)->key;
  keep([&](const BatchRequest& request) { return request.key == first; });
}

Sharing BatchScheduler::SharingOf(const Member& member,
                                  std::int64_t now_nanos) const {
  if (!member.cursor().running()) return {};
  std::vector<MemberView> running;
  std::size_t own = 0;
  for (const auto& other : *members_) {
    if (!other->cursor().running()) continue;
    if (other.get() == &member) own = running.size();
    const BatchKey next = other->cursor().next();
    MemberView view{.cursor = &other->cursor(),
                    .slots = other->terms().slots,
                    .has_next = batch_cache_->Find(next) != nullptr ||
                                in_flight_->Find(next) != nullptr};
    if (const auto missing = FindMissing(*other, now_nanos))
      view.request = RequestFor(*other, *missing, now_nanos);
    running.push_back(view);
  }
  return stream::SharingOf(running, own);
}

void BatchScheduler::BeginIn(std::uint32_t slot, const BatchRequest& request,
                             std::int64_t now_nanos) {
  const Cursor& cursor = members_->Find(request.member)->cursor();
  Batch* const batch = in_flight_->Begin(
      request.key, cursor.SamplesOf(request.key), cursor.epochs(),
      request.member, slot, batch_cache_->memory().host(slot).data());
  if (is_live_) {
    gone_ = std::max(gone_, cursor.After(request.key));
    frontier_ = std::max(frontier_, gone_);
  }
  if (staging_->bytes() > 0) {
    batch->staging = staging_->Take();
    batch->memory.device = batch->staging.data();
  }
  batch->moved_at_nanos = now_nanos;
  // Members that soon come to the batch share its cost.
  batch->payers = members_->ReadersOf(request.key);
  if (std::find(batch->payers.begin(), batch->payers.end(), request.member) ==
      batch->payers.end()) {
    batch->payers.push_back(request.member);
  }
  const double part = 1.0 / static_cast<double>(batch->payers.size());
  for (const slots::MemberId payer : batch->payers)
    members_->Find(payer)->served += part;
}

const CompletedBatch* BatchScheduler::Victim(std::int64_t now_nanos) const {
  return batch_cache_->Victim(
      [&](const BatchKey& kept) { return NanosUntil(kept, now_nanos); });
}

std::int64_t BatchScheduler::NanosUntil(const BatchKey& key,
                                        std::int64_t now_nanos) const {
  // This value stands for an unknown time, later than that of any member that
  // runs.
  constexpr std::int64_t kSomeTime = cache::kNever / 2;
  const std::int64_t nanos = members_->NanosUntil(key, now_nanos);
  return nanos == cache::kNever && IsAwaited(key) ? kSomeTime : nanos;
}

bool BatchScheduler::IsEpochsBefore(const Member& member,
                                    const BatchKey& key) const {
  return is_live_ && member.cursor().running() &&
         member.cursor().epoch() < key.epoch;
}

std::optional<slots::MemberId> BatchScheduler::RestingMemberOf(
    const BatchKey& key) const {
  if (!is_live_ || sharing_mode_ != SharingMode::kLockstep) return std::nullopt;
  const auto resting_member =
      std::find_if(members_->begin(), members_->end(), [&](const auto& member) {
        return member->rests() && !(key < member->place());
      });
  if (resting_member == members_->end()) return std::nullopt;
  return (*resting_member)->id();
}

bool BatchScheduler::IsAwaited(const BatchKey& key) const {
  return AwaitsEarlier() || RestingMemberOf(key).has_value() ||
         std::any_of(
             members_->begin(), members_->end(),
             [&](const auto& member) { return IsEpochsBefore(*member, key); });
}

bool BatchScheduler::AwaitsAny() const {
  return AwaitsEarlier() || IsAwaited({.epoch = UINT64_MAX});
}

bool BatchScheduler::Holds(std::int64_t now_nanos) {
  constexpr std::int64_t kPatienceNanos = 1'000'000'000;
  if (members_->Running() == 0 || !AwaitsEarlier()) return false;
  if (!held_at_nanos_.has_value()) held_at_nanos_ = now_nanos;
  return sharing_mode_ == SharingMode::kLockstep ||
         now_nanos - *held_at_nanos_ < kPatienceNanos;
}

bool BatchScheduler::AwaitsEarlier() const {
  return std::any_of(earlier_.begin(), earlier_.end(),
                     [](const auto& count) { return count->load() > 0; });
}

std::optional<std::uint32_t> BatchScheduler::SlotFor(
    const BatchRequest& request, std::int64_t now_nanos, bool* grows) {
  // Staging memory returns when a batch in flight completes.
  if (staging_->bytes() > 0 && !staging_->HasFree()) return std::nullopt;
  if (batch_cache_->pool().Counts().free == 0) {
    const CompletedBatch* const victim = Victim(now_nanos);
    if (victim == nullptr) {
      *grows |= Grows();
      return std::nullopt;
    }
    if (NanosUntil(victim->key, now_nanos) != cache::kNever) {
      // To make a slot is better than to evict a batch that a member will read.
      if (WantsMoreFor(*victim, now_nanos)) *grows |= Grows();
      if (is_live_ && batch_cache_->growing() > 0) return std::nullopt;
      if (!EvictsFor(*victim, request, now_nanos)) return std::nullopt;
    }
    batch_cache_->Evict(*victim);
  }
  const auto slot = batch_cache_->Take();
  // The next slot is made while this one is filled.
  if (members_->was_shared() && batch_cache_->pool().Counts().free == 0) {
    const CompletedBatch* const next = Victim(now_nanos);
    if (next != nullptr && WantsMoreFor(*next, now_nanos)) *grows |= Grows();
  }
  return slot;
}

bool BatchScheduler::WantsMoreFor(const CompletedBatch& batch,
                                  std::int64_t now_nanos) const {
  // A batch of a live dataset cannot be made again, so some are kept for a
  // member that stands still. They take so little memory that other jobs hardly
  // notice.
  constexpr std::uint32_t kSome = 16;
  const auto comes_soon = [&](const auto& member) {
    return IsEpochsBefore(*member, batch.key) &&
           !member->StandsStill(now_nanos);
  };
  return members_->AwaitsSoon(batch.key, now_nanos) ||
         std::any_of(members_->begin(), members_->end(), comes_soon) ||
         (is_live_ && batch_cache_->pool().slots() < kSome &&
          NanosUntil(batch.key, now_nanos) != cache::kNever);
}

bool BatchScheduler::Grows() {
  return batch_cache_->growing() == 0 &&
         batch_cache_->Grow(members_->was_shared());
}

bool BatchScheduler::EvictsFor(const CompletedBatch& victim,
                               const BatchRequest& request,
                               std::int64_t now_nanos) const {
  absl::InlinedVector<Eviction::Reader, 2> readers;
  for (const auto& member : *members_) {
    const std::int64_t nanos = member->NanosUntil(victim.key, now_nanos);
    if (nanos == cache::kNever) continue;
    readers.push_back({.nanos = nanos,
                       .is_requester = member->id() == request.member,
                       .capped = member->capped});
  }
  if (IsAwaited(victim.key)) {
    readers.push_back({.nanos = NanosUntil(victim.key, now_nanos),
                       .is_requester = false,
                       .capped = false});
  }
  // A batch of a live dataset cannot be made again, so it is treated like a
  // batch before the requested one.
  const bool is_before = is_live_ || victim.key < request.key;
  const bool grows = batch_cache_->growing() > 0;
  return MayEvict({.readers = readers,
                   .make_nanos = victim.make_nanos,
                   .is_before = is_before,
                   .hungry = request.hungry,
                   .has_nothing = request.has_nothing,
                   .none_in_flight = in_flight_->empty(),
                   .hangs = in_flight_->Hangs(now_nanos),
                   .grows = grows,
                   .sharing_mode = sharing_mode_});
}

}  // namespace forebay::stream
