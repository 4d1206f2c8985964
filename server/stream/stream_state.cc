#include "server/stream/stream_state.h"

#include <algorithm>
#include <utility>

#include "proto/shm_ring.h"

namespace forebay::stream {

StreamState::StreamState(const Deps& deps, SharingMode sharing_mode,
                         storage::Variant variant,
                         base::MemoryReservation read_window)
    : prefetcher(deps.spec, variant, deps.budget, std::move(read_window)),
      // A new slot needs new workers. Workers with affinity would then begin
      // their part of the dataset again, unless the dataset is live.
      batch_cache(deps.budget, deps.layout->slot_size(),
                  /*grows=*/deps.spec->dataset->affinity_workers() == 0 ||
                      deps.spec->dataset->is_live(),
                  /*lingers=*/deps.produced != nullptr),
      staging(deps.budget, deps.layout->slot_size().device,
              /*lingers=*/deps.spec->workers_stage()),
      members(deps.spec->batch, deps.next_use),
      in_flight(deps.spec->batch, deps.spec->seed, deps.spec->dataset->size(),
                deps.layout,
                deps.spec->room.has_value() ? deps.spec->room->samples.get()
                                            : nullptr),
      scheduler(sharing_mode, &members, &batch_cache, &staging, &in_flight,
                deps.spec->dataset->is_live()),
      publisher(&members, &batch_cache),
      completion(deps.layout, &members, &batch_cache, &in_flight),
      epochs(&deps.spec->sampler),
      tasks(deps.cpus, deps.produced,
            deps.spec->dataset->affinity_workers() > 0, &members, &in_flight),
      progress(&members, &in_flight, &prefetcher, &tasks, &batch_cache),
      charges(&members, &in_flight, &prefetcher, &tasks, deps.large),
      memory(&batch_cache, &staging, &in_flight),
      polling(&members, &batch_cache),
      has_workers(deps.produced != nullptr) {}

void StreamState::RetireLocked(const Member& member) {
  in_flight.Retire(
      member.id(),
      [this](const BatchKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
        return scheduler.HeirOf(key);
      },
      batch_cache.pool());
  charges.MembersChanged();
}

absl::StatusOr<Member::Terms> StreamState::BeginStartLocked(
    slots::MemberId member, std::int64_t now_nanos) {
  Member* const m = members.Find(member);
  if (m == nullptr || m->cursor().running())
    return absl::FailedPreconditionError("an epoch is under way");
  m->Account();
  // The ready ring must have room for a batch of each slot and a closing entry.
  if (m->untaken() + m->terms().slots + 1 > proto::kReadyCapacity) {
    return absl::FailedPreconditionError(
        "a member takes nothing of what is published");
  }
  ++starting;
  used_at_nanos = now_nanos;
  return m->terms();
}

void StreamState::StopEpochLocked(Member* member, std::int64_t now_nanos) {
  member->Stop();
  RetireLocked(*member);
  used_at_nanos = now_nanos;
}

void StreamState::EndEpochLocked(Member* member, const absl::Status& status,
                                 std::int64_t now_nanos) {
  member->Close(status);
  RetireLocked(*member);
  used_at_nanos = now_nanos;
}

void StreamState::EndAllEpochsLocked(const absl::Status& status,
                                     std::int64_t now_nanos) {
  for (const auto& member : members) {
    if (member->cursor().running())
      EndEpochLocked(member.get(), status, now_nanos);
  }
}

void StreamState::BeginBatchesLocked(StreamPlan* plan, std::int64_t now_nanos) {
  polling.Planned();
  scheduler.PassOver();
  publisher.Publish(now_nanos, [&](const Member& member)
                                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
                                     RetireLocked(member);
                                     used_at_nanos = now_nanos;
                                   });
  if (has_workers) {
    if (const std::uint32_t slots = memory.GrowFirst(members))
      plan->first_slots = slots;
  }
  plan->grows |= scheduler.Begin(now_nanos);
  if (scheduler.is_held()) plan->rechecks |= !std::exchange(rechecks, true);
  if (members.Running() > 0) plan->staging += staging.Grow();
  charges.Update(plan);
}

void StreamState::NoteRequestedLocked(std::int64_t now_nanos) {
  for (const auto& member : members) {
    if (member->cursor().running())
      member->Asked(scheduler.AskedFor(*member), now_nanos);
  }
}

bool StreamState::IsIdleForLocked(std::int64_t nanos,
                                  std::int64_t now_nanos) const {
  const slots::SlotCounts counts = batch_cache.pool().Counts();
  return members.Running() + starting == 0 &&
         now_nanos - used_at_nanos >= nanos &&
         counts.filling + counts.leased + batch_cache.growing() == 0;
}

StreamSnapshot StreamState::SnapshotLocked(slots::MemberId member,
                                           std::int64_t now_nanos) {
  StreamSnapshot snapshot;
  snapshot.prefetch = prefetcher.Snapshot();
  snapshot.samples_to_decode = progress.samples_to_decode();
  snapshot.slots_copying = in_flight.Copying();
  snapshot.slots = batch_cache.pool().slots();
  snapshot.slot_counts = batch_cache.pool().Counts();
  Member* const m = members.Find(member);
  if (m == nullptr) return snapshot;
  snapshot.epoch = m->cursor().epoch();
  snapshot.running = m->cursor().running();
  snapshot.leases = batch_cache.pool().Leases(member);
  snapshot.depth = m->depth().target();
  snapshot.untaken = m->Account();
  snapshot.position = m->position();
  snapshot.counters = m->counters();
  snapshot.counters.set_batches_held(snapshot.held());
  snapshot.members = static_cast<std::uint32_t>(members.Running());
  snapshot.sharing = scheduler.SharingOf(*m, now_nanos);
  return snapshot;
}

void StreamState::CountStartedLocked() {
  *started_members = static_cast<std::uint32_t>(
      std::count_if(members.begin(), members.end(),
                    [](const auto& member) { return member->has_started(); }));
}

}  // namespace forebay::stream
