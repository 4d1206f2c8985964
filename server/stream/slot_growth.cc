#include "server/stream/slot_growth.h"

#include <utility>

#include "server/base/mutex.h"
#include "server/schedule/flow.h"
#include "server/worker/pool_lack.h"

namespace forebay::stream {

SlotGrowth::SlotGrowth(const SlotSize& size, const Aside& aside, Deps deps)
    : deps_(std::move(deps)),
      aside_(aside),
      slot_maker_(size, Workers(), aside, &deps_.state->mutex,
                  &deps_.state->batch_cache, &deps_.state->staging) {}

SlotMaker::Workers SlotGrowth::Workers() {
  return {.set = deps_.workers,
          .stage = deps_.workers_stage,
          .keep = [this](base::MemoryReservation lent, bool is_slot) {
            return KeepLent(std::move(lent), is_slot);
          }};
}

std::shared_ptr<const void> SlotGrowth::KeepLent(base::MemoryReservation lent,
                                                 bool is_slot) {
  // The result may be released on any thread, with any locks held, so the
  // stream takes the reservation back on the waiter's thread.
  const auto kept = std::make_shared<base::MemoryReservation>(std::move(lent));
  return std::shared_ptr<const void>(
      kept.get(),
      [waiter = deps_.answer_waiter, weak = self_, kept, is_slot](const void*) {
        waiter->Post([weak, kept, is_slot] {
          const auto self = weak.lock();
          if (self == nullptr) return;
          StreamState* const state = self->deps_.state;
          self->deps_.update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) {
            state->memory.TakeBack(std::move(*kept), is_slot);
            return true;
          });
        });
      });
}

void SlotGrowth::Submit(const StreamPlan& plan) {
  // Slots are charged to nobody, so that no present or later cap holds them up.
  using schedule::kNobody;
  if (plan.first_slots > 0) {
    deps_.executor->Submit(kNobody, slot_maker_.DemandOfSlots(plan.first_slots),
                           [self = self_.lock(), slots = plan.first_slots](
                               int) { self->MakeFirst(slots); });
  }
  if (plan.grows) {
    deps_.executor->Submit(kNobody, slot_maker_.DemandOfSlots(1),
                           [self = self_.lock()](int) { self->MakeSlot(); });
  }
  if (plan.staging > 0) {
    deps_.executor->Submit(kNobody, SlotMaker::DemandOfStaging(),
                           [self = self_.lock(), batches = plan.staging](int) {
                             self->MakeStaging(batches);
                           });
  }
}

void SlotGrowth::MakeSlot() {
  slot_maker_.MakeSlots(
      1, [self = self_.lock()](auto made) { self->OnSlots(std::move(made)); });
}

void SlotGrowth::MakeFirst(std::uint32_t slots) {
  slot_maker_.MakeSlots(slots, [self = self_.lock(), slots](auto made) {
    self->OnFirst(slots, std::move(made));
  });
}

void SlotGrowth::MakeStaging(std::uint32_t batches) {
  slot_maker_.MakeStaging(batches, [self = self_.lock(), batches](auto made) {
    self->OnStaging(batches, std::move(made));
  });
}

void SlotGrowth::OnSlots(absl::StatusOr<std::vector<SlotParts>> made) {
  const absl::Status status = made.status();
  StreamState* const state = deps_.state;
  deps_.update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) {
    if (made.ok()) {
      state->batch_cache.Grown(&*made);
    } else {
      state->batch_cache.NotGrown();
    }
    return true;
  });
  aside_.End(std::move(made));
  if (status.ok() || deps_.workers == nullptr || deps_.is_live) return;
  // Several members would wait for slots that others hold, so their epochs end.
  // A single member goes on with the slots that it has.
  if (worker::IsPoolLack(status) && IsShared()) {
    deps_.end_all_epochs(status);
  } else {
    deps_.end_all_epochs(deps_.workers->CheckPool());
  }
}

bool SlotGrowth::IsShared() const {
  base::MutexLock lock(&deps_.state->mutex);
  return deps_.state->members.Running() > 1;
}

void SlotGrowth::OnFirst(std::uint32_t slots,
                         absl::StatusOr<std::vector<SlotParts>> made) {
  if (made.ok()) {
    OnSlots(std::move(made));
    return;
  }
  {
    base::MutexLock lock(&deps_.state->mutex);
    deps_.state->batch_cache.NotGrown(slots);
  }
  deps_.end_all_epochs(made.status());
}

void SlotGrowth::OnStaging(
    std::uint32_t batches,
    absl::StatusOr<std::vector<StagingPool::Memory>> made) {
  const absl::Status status = made.status();
  if (!made.ok()) made.emplace();
  bool can_go_on = true;
  StreamState* const state = deps_.state;
  deps_.update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) {
    state->staging.Grown(batches, &*made);
    can_go_on = status.ok() || !state->staging.IsEmpty();
    return true;
  });
  if (!can_go_on) deps_.end_all_epochs(status);
}

}  // namespace forebay::stream
