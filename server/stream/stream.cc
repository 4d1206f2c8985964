// The functions that the stream's users call. Each changes the state under its
// mutex. If work can follow from the change, BatchMaker plans it and carries
// the plan out. Join, StartWorkers, Follow and Reclaim make no plan. Close only
// makes the plan of Stop.
#include "server/stream/stream.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/stream/published_slot.h"
#include "server/stream/slot_maker.h"
#include "server/stream/stream_plan.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

absl::StatusOr<std::shared_ptr<Stream>> Stream::Create(
    StreamSpec spec, StreamDeps deps, SharingMode sharing_mode) {
  const std::uint64_t user_buffer_bytes =
      spec.user_code() == nullptr ? 0 : spec.user_code()->user_buffer_bytes();
  absl::Span<const std::uint64_t> room;
  if (spec.room.has_value()) room = spec.room->bytes;
  FOREBAY_RETURN_IF_ERROR(BatchLayout::CheckSize(spec.fields, spec.batch.size,
                                                 user_buffer_bytes, room));
  if (spec.dataset->affinity_workers() > 0 && spec.batch.size != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "samples that are divided among workers by their numbers come one at a "
        "time, not in batches of ",
        spec.batch.size));
  }
  const BatchLayout layout(spec.fields, spec.batch.size, spec.place,
                           user_buffer_bytes, room);
  FOREBAY_ASSIGN_OR_RETURN(
      auto read_window,
      ReserveReadWindow(deps.budget, *spec.dataset, deps.executor->cpus()));
  auto* const stream = new Stream(std::move(spec), std::move(deps),
                                  sharing_mode, layout, std::move(read_window));
  std::shared_ptr<Stream> owned(stream,
                                [aside = stream->aside_](Stream* ended) {
                                  aside.End(std::unique_ptr<Stream>(ended));
                                });
  stream->batch_maker_.SetOwner(owned);
  return owned;
}

Stream::Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
               const BatchLayout& layout, base::MemoryReservation read_window)
    : spec_(std::move(spec)),
      deps_(std::move(deps)),
      aside_(
          deps_.aside,
          absl::StrCat("memory of ", spec_.dataset->uri(), " (",
                       absl::Hex(reinterpret_cast<std::uintptr_t>(this)), ")")),
      layout_(layout),
      variants_(&spec_, deps_.variant_store),
      sample_maker_(&spec_, &layout_, &variants_),
      produced_(spec_.needs_workers()
                    ? std::make_unique<ProducedSamples>(
                          &spec_, &layout_, &deps_,
                          [this](const PendingSample& pending,
                                 executor::Executor::Task task) {
                            batch_maker_.SubmitFor(pending, std::move(task));
                          })
                    : nullptr),
      large_(std::make_shared<sample::LargeSamples>(deps_.executor,
                                                    deps_.shared_workspace)),
      state_({.spec = &spec_,
              .layout = &layout_,
              .budget = deps_.budget,
              .next_use = {.next_use_registry = deps_.next_use_registry,
                           .dataset = spec_.dataset},
              .cpus = deps_.executor->cpus(),
              .produced = produced_.get(),
              .large = large_.get()},
             sharing_mode, variants_.variant(), std::move(read_window)),
      batch_maker_({.spec = &spec_,
                    .stream_deps = &deps_,
                    .layout = &layout_,
                    .sample_maker = &sample_maker_,
                    .produced = produced_.get(),
                    .large = large_.get(),
                    .state = &state_},
                   aside_),
      pool_watch_(/*has_affinity=*/spec_.dataset->affinity_workers() > 0,
                  spec_.dataset->is_live()) {}

std::uint64_t Stream::samples_per_epoch() const {
  base::MutexLock lock(&state_.mutex);
  return state_.epochs.samples_per_epoch();
}

std::uint64_t Stream::batches_per_epoch() const {
  if (spec_.batch.by_length) return 0;
  const std::uint64_t samples = samples_per_epoch();
  const std::uint64_t size = spec_.batch.size;
  return spec_.batch.drop_last ? samples / size : (samples + size - 1) / size;
}

absl::StatusOr<base::Fd> Stream::StartWorkers(slots::MemberId member,
                                              std::uint32_t most,
                                              bool are_persistent,
                                              const std::string& owner) {
  if (produced_ == nullptr)
    return absl::InvalidArgumentError("the daemon makes these samples itself");
  if (most < spec_.dataset->affinity_workers()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the samples of this dataset are divided among ",
                     spec_.dataset->affinity_workers(),
                     " workers by their numbers, so a loader needs at least as "
                     "many workers, not ",
                     most));
  }
  FOREBAY_ASSIGN_OR_RETURN(base::Fd socket,
                           produced_->workers()->Start(most, owner));
  base::MutexLock lock(&state_.mutex);
  pool_watch_.SetOwner(member);
  if (Member* const owner = state_.members.Find(member)) owner->OwnWorkerPool();
  state_.batch_cache.Keep(are_persistent);
  return socket;
}

bool Stream::HasEnded() const {
  if (produced_ == nullptr) return false;
  base::MutexLock lock(&state_.mutex);
  // A single process makes a live dataset for all loaders, so another stream
  // would not help.
  const auto& workers = *produced_->workers();
  return workers.ended() ||
         ((pool_watch_.stands_still() || workers.pool_lacks()) &&
          !spec_.dataset->is_live());
}

absl::StatusOr<slots::MemberId> Stream::Join(slots::Channel* channel,
                                             schedule::Flow flow,
                                             std::uint32_t depth,
                                             DevicePtr device) {
  const bool on_device = layout_.slot_size().device > 0;
  FOREBAY_CHECK(on_device == (device != nullptr));
  const Member::Terms terms = {
      .flow = flow, .slots = SlotsFor(depth), .device = std::move(device)};
  base::MutexLock lock(&state_.mutex);
  FOREBAY_RETURN_IF_ERROR(state_.memory.Join(terms));
  const absl::Status opened = state_.prefetcher.Open();
  if (!opened.ok()) {
    state_.memory.CancelJoin(terms);
    return opened;
  }
  Member& member = state_.members.Join(channel, terms);
  if (spec_.dataset->is_live()) member.OwnWorkerPool();
  return member.id();
}

void Stream::SetCapped(slots::MemberId member, bool capped) {
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    Member* const m = state_.members.Find(member);
    return m != nullptr && std::exchange(m->capped, capped) != capped;
  });
}

void Stream::RemoveMember(slots::MemberId member) {
  Stop(member);
  FreedMemory freed;
  // Keeps the GPU open until the mutex is released.
  Member::Terms terms;
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    Member* const m = state_.members.Find(member);
    if (m == nullptr) return false;
    m->Close();
    state_.RetireLocked(*m);
    terms = m->terms();
    state_.batch_cache.pool().ReleaseAll(member);
    state_.members.Remove(member);
    state_.memory.Leave(terms, &freed);
    // Memory is given back now: reads that a cap holds up may keep the stream
    // alive for long.
    CloseIfNoneIsOpenLocked(&freed);
    return true;
  });
}

void Stream::Close(slots::MemberId member) {
  Stop(member);
  FreedMemory freed;
  base::MutexLock lock(&state_.mutex);
  Member* const m = state_.members.Find(member);
  if (m != nullptr) {
    m->Close();
    state_.RetireLocked(*m);
    state_.memory.PayForHeld(m);
  }
  state_.CountStartedLocked();
  CloseIfNoneIsOpenLocked(&freed);
}

void Stream::CloseIfNoneIsOpenLocked(FreedMemory* freed) {
  if (state_.members.AnyOpen()) return;
  state_.batch_cache.Keep(false);
  state_.memory.Trim(freed);
  state_.prefetcher.Close();
  if (produced_ != nullptr) produced_->workers()->End();
}

bool Stream::Holds(slots::MemberId member) {
  // A client with impossible values in its ring keeps its other leases.
  TakeReleases(member).IgnoreError();
  base::MutexLock lock(&state_.mutex);
  return state_.batch_cache.pool().Leases(member) > 0;
}

absl::StatusOr<std::vector<base::Fd>> Stream::Start(slots::MemberId member,
                                                    const EpochStart& start) {
  FOREBAY_ASSIGN_OR_RETURN(CheckedStart checked, CheckStart(spec_, start));
  absl::StatusOr<Member::Terms> begun;
  {
    base::MutexLock lock(&state_.mutex);
    begun = state_.BeginStartLocked(member, Now());
  }
  FOREBAY_ASSIGN_OR_RETURN(const Member::Terms terms, std::move(begun));
  const absl::Cleanup started = [this] {
    base::MutexLock lock(&state_.mutex);
    state_.EndStartLocked();
  };
  SlotMaker& slot_maker = batch_maker_.slots().slot_maker();
  FOREBAY_RETURN_IF_ERROR(produced_ == nullptr
                              ? slot_maker.AddFirstSlots(terms.slots)
                              : produced_->workers()->CheckPool());
  absl::StatusOr<std::vector<base::Fd>> fds;
  FreedMemory freed;
  StreamPlan plan;
  for (bool prepared = false; !prepared;) {
    if (terms.device != nullptr) {
      FOREBAY_RETURN_IF_ERROR(slot_maker.PrepareDevice(
          terms.device,
          [self = shared_from_this()](const absl::Status& status) {
            self->batch_maker_.EndAllEpochs(status);
          }));
    }
    plan =
        batch_maker_.Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
          // Another member's first slots may have been begun meanwhile.
          prepared = terms.device == nullptr ||
                     state_.batch_cache.memory().IsPrepared(terms.device.get());
          if (!prepared) return false;
          fds = StartLocked(member, start, &checked, &freed);
          return fds.ok();
        });
  }
  // The caller makes the first slots itself: no thread of the executor is to
  // spend its time on clearing so much memory.
  const std::uint32_t slots = std::exchange(plan.first_slots, 0);
  batch_maker_.Execute(std::move(plan));
  if (slots > 0) batch_maker_.slots().MakeFirst(slots);
  return fds;
}

absl::StatusOr<std::vector<base::Fd>> Stream::StartLocked(
    slots::MemberId member, const EpochStart& start, CheckedStart* checked,
    FreedMemory* freed) {
  Member& m = *state_.members.Find(member);
  // Slots that no member pays for can go while no client maps them.
  if (state_.members.Running() == 0 && !state_.scheduler.AwaitsAny())
    state_.memory.Trim(freed);
  auto fds = state_.batch_cache.memory().DescriptorsFor(m.device(), 0);
  if (!fds.ok()) return fds;
  // From here on, nothing fails.
  if (auto seen = std::exchange(checked->seen_samples, std::nullopt))
    spec_.order_member->Start(start.first_sample, *std::move(seen));
  if (state_.members.Running() == 0) state_.prefetcher.StartEpoch();
  state_.staging.TryAgain();
  const BatchKey first = state_.scheduler.StartFor(
      {start.epoch, start.first_sample}, checked->samples);
  if (state_.epochs.vary()) state_.batch_cache.Forget(first.epoch);
  state_.members.Start(m, state_.epochs.Of(first.epoch, start.samples),
                       first.first_sample, Now());
  state_.charges.MembersChanged();
  return fds;
}

void Stream::Follow(const Stream& earlier) {
  if (!spec_.dataset->is_live()) return;
  base::MutexLock lock(&state_.mutex);
  state_.scheduler.Await(earlier.state_.started_members);
}

absl::StatusOr<std::vector<base::Fd>> Stream::SlotsFrom(
    slots::MemberId member, std::uint32_t first) const {
  base::MutexLock lock(&state_.mutex);
  const Member* const m = state_.members.Find(member);
  if (m == nullptr) return std::vector<base::Fd>();
  return state_.batch_cache.memory().DescriptorsFor(m->device(), first);
}

void Stream::Stop(slots::MemberId member) {
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    Member* const m = state_.members.Find(member);
    if (m == nullptr || !m->cursor().running()) return false;
    state_.StopEpochLocked(m, Now());
    return true;
  });
}

void Stream::ReleaseIdleMemory() {
  LookAfterWorkers();
  FreedMemory freed;
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    state_.prefetcher.ReleaseIdleMemory();
    state_.memory.TryAgain();
    state_.members.TakeReleases(state_.batch_cache.pool());
    CloseIfNoneIsOpenLocked(&freed);
    return true;
  });
}

bool Stream::Reclaim(std::int64_t idle_nanos) {
  FreedMemory freed;
  base::MutexLock lock(&state_.mutex);
  if (state_.batch_cache.pool().slots() == 0) return true;
  if (!state_.IsIdleForLocked(idle_nanos, Now())) return false;
  // A batch of a live dataset cannot be made again for members that come back.
  if (spec_.dataset->is_live() && state_.scheduler.AwaitsAny()) return false;
  for (const auto& member : state_.members) member->PauseNextUse();
  // Workers that lose a slot are replaced, and their state would be lost.
  if (state_.batch_cache.keeps() && !produced_->workers()->ended())
    return false;
  state_.memory.Clear(&freed);
  return true;
}

absl::Status Stream::TakeReleases(slots::MemberId member) {
  absl::Status status;
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    Member* const m = state_.members.Find(member);
    if (m == nullptr) return false;
    status = m->TakeReleases(state_.batch_cache.pool());
    if (m->closed()) state_.memory.PayForHeld(m);
    return true;
  });
  return status;
}

StreamSnapshot Stream::Snapshot(slots::MemberId member) {
  base::MutexLock lock(&state_.mutex);
  return state_.SnapshotLocked(member, Now());
}

absl::StatusOr<SlotCopy> Stream::Peek() {
  const SlotSize& size = slot_size();
  SlotCopy copy;
  FOREBAY_ASSIGN_OR_RETURN(
      copy.reservation,
      deps_.budget->Reserve(size.host + size.device, "a peek"));
  absl::StatusOr<PublishedSlot> slot;
  {
    base::MutexLock lock(&state_.mutex);
    slot = PublishedSlot::Lease(state_.publisher.last(), &state_.batch_cache);
  }
  FOREBAY_RETURN_IF_ERROR(slot.status());
  auto bytes = CopySlot(slot->source(), size);
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    slot->Release(&state_.batch_cache);
    return true;
  });
  FOREBAY_ASSIGN_OR_RETURN(copy.bytes, std::move(bytes));
  return copy;
}

void Stream::LookAfterWorkers() {
  if (produced_ == nullptr) return;
  std::optional<worker::WorkerSet::Need> need;
  {
    base::MutexLock lock(&state_.mutex);
    need = pool_watch_.BeginLook(&state_.members, state_.tasks.cost(), Now());
  }
  if (!need.has_value()) return;
  produced_->workers()->Look(*need);
  const std::int64_t silent = produced_->workers()->SilentNanos();
  batch_maker_.Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex) {
    pool_watch_.EndLook(&state_.members, silent);
    bool ended = false;
    for (const auto& member : state_.members) {
      const absl::Status end = pool_watch_.EndOf(*member);
      if (end.ok()) continue;
      state_.EndEpochLocked(member.get(), end, Now());
      ended = true;
    }
    return ended;
  });
}

}  // namespace forebay::stream
