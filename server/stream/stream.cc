// First come the functions that the stream's users call, then the way of a
// batch from a free slot to its publication. Publisher hands each member the
// completed batches of its epoch, in order. BatchScheduler begins the batches
// that are missing, each in a slot. ReadLocked requests their samples in order
// while the read window has room. Samples whose bytes have arrived wait in a
// decode queue until a task decodes them, straight into the slot. A complete
// batch goes into the batch cache.
//
// Every event (a release, a read, a finished sample, a new slot) is handled
// alike. With the mutex held, the handler changes the state and makes a Plan of
// what follows (PlanLocked). Execute carries the plan out without the mutex: it
// submits tasks, sends reads, and has memory made. No lock is held while
// anything is read, decoded, copied or allocated, so a slow event delays no
// other one.
//
// Invariants. A sample that was handed out belongs to one read or task until
// Finish. A batch lives until its last such sample is finished, even if it was
// abandoned. Calls of EnterLocked and Leave are paired on each path; between
// them, members need not wake the stream.
#include "server/stream/stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "proto/shm_ring.h"
#include "server/base/clock.h"
#include "server/base/status.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/pool_lack.h"

namespace forebay::stream {
namespace {

// The holder of the lease under which Peek copies a slot. Members count from 1.
constexpr slots::MemberId kPeeker = 0;

// How long a trainer waits for a worker pool that stands still before its epoch
// ends: for another loader's pool, and for its own. Time counts only while the
// trainer itself runs.
constexpr std::int64_t kOthersPoolNanos = 800'000'000;
constexpr std::int64_t kOwnPoolNanos = 30'000'000'000;
// The least time between two looks at the worker pool. A batch counts as
// awaited if a trainer waited for kAwaitedNanos since the look before.
constexpr std::int64_t kLookNanos = 500'000'000;
constexpr std::int64_t kAwaitedNanos = 250'000'000;

absl::Status PoolStandsStill(bool is_own) {
  return absl::AbortedError(
      is_own
          ? "the process that runs the dataset's code has not answered for "
            "30 s"
          : "the processes that run the dataset's code are another loader's, "
            "and stand still");
}

}  // namespace

absl::StatusOr<std::shared_ptr<Stream>> Stream::Create(
    StreamSpec spec, StreamDeps deps, SharingMode sharing_mode) {
  const std::uint64_t user_buffer_bytes =
      spec.user_code() == nullptr ? 0 : spec.user_code()->user_buffer_bytes();
  absl::Span<const std::uint64_t> room;
  if (spec.room.has_value()) room = spec.room->bytes;
  FOREBAY_RETURN_IF_ERROR(BatchLayout::CheckSize(spec.fields, spec.batch.size,
                                                 user_buffer_bytes, room));
  if (spec.dataset->lanes() > 0 && spec.batch.size != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "samples in lanes come alone, not in batches of ", spec.batch.size));
  }
  const BatchLayout layout(spec.fields, spec.batch.size, spec.place,
                           user_buffer_bytes, room);
  FOREBAY_ASSIGN_OR_RETURN(
      auto read_window,
      ReserveReadWindow(deps.budget, *spec.dataset, deps.executor->cpus()));
  auto* const stream = new Stream(std::move(spec), std::move(deps),
                                  sharing_mode, layout, std::move(read_window));
  return std::shared_ptr<Stream>(stream,
                                 [aside = stream->aside_](Stream* ended) {
                                   aside.End(std::unique_ptr<Stream>(ended));
                                 });
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
      maker_(&spec_, &layout_, &variants_),
      produced_(spec_.needs_workers()
                    ? std::make_unique<ProducedSamples>(
                          &spec_, &layout_, &deps_,
                          [this](const PendingSample& pending,
                                 executor::Executor::Task task) {
                            SubmitFor(pending, std::move(task));
                          })
                    : nullptr),
      large_(std::make_shared<sample::LargeSamples>(deps_.executor,
                                                    deps_.shared_workspace)),
      prefetcher_(&spec_, variants_.variant(), deps_.budget,
                  std::move(read_window)),
      // A new slot needs new workers. Workers with affinity would then begin
      // their part of the dataset again, unless the dataset is live.
      batch_cache_(
          deps_.budget, layout_.slot_size(),
          /*grows=*/spec_.dataset->lanes() == 0 || spec_.dataset->is_live(),
          /*lingers=*/produced_ != nullptr),
      staging_(deps_.budget, layout_.slot_size().device,
               /*lingers=*/spec_.workers_stage()),
      members_(spec_.batch, {.next_use_registry = deps_.next_use_registry,
                             .dataset = spec_.dataset}),
      in_flight_(spec_.batch, spec_.seed, spec_.dataset->size(), &layout_,
                 spec_.room.has_value() ? spec_.room->samples.get() : nullptr),
      scheduler_(sharing_mode, &members_, &batch_cache_, &staging_, &in_flight_,
                 spec_.dataset->is_live()),
      publisher_(&members_, &batch_cache_),
      completion_(&layout_, &members_, &batch_cache_, &in_flight_),
      epochs_(&spec_.sampler),
      tasks_(deps_.executor->cpus(), produced_.get(),
             spec_.dataset->lanes() > 0, &members_, &in_flight_),
      slot_maker_(layout_.slot_size(), Workers(), aside_, &mutex_,
                  &batch_cache_, &staging_) {}

std::uint64_t Stream::samples_per_epoch() const {
  base::MutexLock lock(&mutex_);
  return epochs_.samples_per_epoch();
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
  if (most < spec_.dataset->lanes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dataset in ", spec_.dataset->lanes(),
                     " lanes needs as many workers, not ", most));
  }
  FOREBAY_ASSIGN_OR_RETURN(base::Fd socket,
                           produced_->workers()->Start(most, owner));
  base::MutexLock lock(&mutex_);
  pool_owner_ = member;
  if (Member* const owner = members_.Find(member)) owner->OwnWorkerPool();
  batch_cache_.Keep(are_persistent);
  return socket;
}

bool Stream::HasEnded() const {
  if (produced_ == nullptr) return false;
  base::MutexLock lock(&mutex_);
  // A single process makes a live dataset for all loaders, so another stream
  // would not help.
  const auto& workers = *produced_->workers();
  return workers.ended() || ((pool_stands_still_ || workers.pool_lacks()) &&
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
  base::MutexLock lock(&mutex_);
  absl::Status joined = batch_cache_.Pay(terms.slots);
  if (!joined.ok()) return joined;
  joined = staging_.Pay(terms.slots);
  if (joined.ok()) {
    if (on_device) joined = batch_cache_.memory().Join(terms.device);
    if (joined.ok()) {
      joined = prefetcher_.Open();
      if (joined.ok()) {
        Member& member = members_.Join(channel, terms);
        if (spec_.dataset->is_live()) member.OwnWorkerPool();
        return member.id();
      }
      if (on_device) batch_cache_.memory().Leave(terms.device.get());
    }
    staging_.EndPay(terms.slots);
  }
  batch_cache_.EndPay(terms.slots);
  return joined;
}

void Stream::SetCapped(slots::MemberId member, bool capped) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Member* const m = members_.Find(member);
    return m != nullptr && std::exchange(m->capped, capped) != capped;
  });
}

void Stream::RemoveMember(slots::MemberId member) {
  Stop(member);
  Freed freed;
  // Keeps the GPU open until the mutex is released.
  Member::Terms terms;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Member* const m = members_.Find(member);
    if (m == nullptr) return false;
    m->Close();
    RetireLocked(*m);
    terms = m->terms();
    batch_cache_.pool().ReleaseAll(member);
    members_.Remove(member);
    batch_cache_.EndPay(terms.slots);
    staging_.EndPay(terms.slots);
    if (terms.device != nullptr) LeaveDeviceLocked(*terms.device, &freed);
    // Memory is given back now: reads that a cap holds up may keep the stream
    // alive for long.
    CloseIfNoneIsOpenLocked(&freed);
    return true;
  });
}

void Stream::LeaveDeviceLocked(const device::Device& device, Freed* freed) {
  freed->device_parts = batch_cache_.memory().Leave(&device);
  if (freed->device_parts.empty()) return;
  batch_cache_.ForgetCopiesOn(&device);
  in_flight_.ForgetCopiesOn(&device);
  // Memory that was pinned by the GPU keeps it open.
  for (StagingPool::Memory& removed :
       staging_.RemovePinnedBy(device.gpu().get()))
    freed->staging.push_back(std::move(removed));
}

void Stream::Close(slots::MemberId member) {
  Stop(member);
  Freed freed;
  base::MutexLock lock(&mutex_);
  Member* const m = members_.Find(member);
  if (m != nullptr) {
    m->Close();
    RetireLocked(*m);
    PayForHeldLocked(*m);
  }
  CountStartedLocked();
  CloseIfNoneIsOpenLocked(&freed);
}

void Stream::PayForHeldLocked(Member& member) {
  const std::uint32_t ended =
      member.PayAtMost(batch_cache_.pool().Leases(member.id()));
  batch_cache_.EndPay(ended);
  staging_.EndPay(ended);
}

void Stream::TrimLocked(Freed* freed) {
  freed->slots = batch_cache_.Trim();
  if (batch_cache_.keeps()) return;
  for (StagingPool::Memory& removed : staging_.Trim(/*all=*/false))
    freed->staging.push_back(std::move(removed));
}

std::shared_ptr<const void> Stream::KeepLent(base::MemoryReservation lent,
                                             bool is_slot) {
  // The result may be released on any thread, with any locks held, so the
  // stream takes the reservation back on the waiter's thread.
  const auto kept = std::make_shared<base::MemoryReservation>(std::move(lent));
  return std::shared_ptr<const void>(
      kept.get(), [waiter = deps_.answer_waiter, weak = weak_from_this(), kept,
                   is_slot](const void*) {
        waiter->Post([weak, kept, is_slot] {
          if (const auto self = weak.lock())
            self->TakeBack(std::move(*kept), is_slot);
        });
      });
}

void Stream::TakeBack(base::MemoryReservation lent, bool is_slot) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_slot) {
      batch_cache_.TakeBack(std::move(lent));
    } else {
      staging_.TakeBack(std::move(lent));
    }
    return true;
  });
}

void Stream::CloseIfNoneIsOpenLocked(Freed* freed) {
  if (members_.AnyOpen()) return;
  batch_cache_.Keep(false);
  TrimLocked(freed);
  prefetcher_.Close();
  if (produced_ != nullptr) produced_->workers()->End();
}

bool Stream::Holds(slots::MemberId member) {
  // A client with impossible values in its ring keeps its other leases.
  TakeReleases(member).IgnoreError();
  base::MutexLock lock(&mutex_);
  return batch_cache_.pool().Leases(member) > 0;
}

absl::StatusOr<std::vector<base::Fd>> Stream::Start(slots::MemberId member,
                                                    const EpochStart& start) {
  FOREBAY_RETURN_IF_ERROR(sampler::Sampler::CheckEpoch(start.epoch));
  FOREBAY_RETURN_IF_ERROR(spec_.sampler.CheckList(start.samples.get()));
  const std::uint64_t samples =
      spec_.sampler.Epoch(start.epoch, start.samples).samples();
  if (start.first_sample > samples) {
    return absl::OutOfRangeError(absl::StrCat(
        "sample ", start.first_sample, " of an epoch that has ", samples));
  }
  std::optional<sampler::SampleSet> seen;
  if (spec_.order_member != nullptr) {
    FOREBAY_ASSIGN_OR_RETURN(
        seen, spec_.order_member->Check(start.first_sample, start.seen.get()));
  }
  Member::Terms terms;
  {
    base::MutexLock lock(&mutex_);
    Member* const m = members_.Find(member);
    if (m == nullptr || m->cursor().running())
      return absl::FailedPreconditionError("an epoch is under way");
    terms = m->terms();
    m->Account();
    // The ready ring must have room for a batch of each slot and a closing
    // entry.
    if (m->untaken() + terms.slots + 1 > proto::kReadyCapacity) {
      return absl::FailedPreconditionError(
          "a member takes nothing of what is published");
    }
    ++starting_;
    used_at_nanos_ = Now();
  }
  const absl::Cleanup started = [this] {
    base::MutexLock lock(&mutex_);
    --starting_;
  };
  FOREBAY_RETURN_IF_ERROR(produced_ == nullptr
                              ? slot_maker_.AddFirstSlots(terms.slots)
                              : produced_->workers()->CheckPool());
  absl::StatusOr<std::vector<base::Fd>> fds;
  Freed freed;
  Plan plan;
  for (bool prepared = false; !prepared;) {
    if (terms.device != nullptr) {
      FOREBAY_RETURN_IF_ERROR(slot_maker_.PrepareDevice(
          terms.device,
          [self = shared_from_this()](const absl::Status& status) {
            self->EndAllEpochs(status);
          }));
    }
    base::MutexLock lock(&mutex_);
    // Another member's first slots may have been begun meanwhile.
    prepared = terms.device == nullptr ||
               batch_cache_.memory().IsPrepared(terms.device.get());
    if (!prepared) continue;
    // Slots that no member pays for can go while no client maps them.
    if (members_.Running() == 0 && !scheduler_.AwaitsAny()) TrimLocked(&freed);
    fds = batch_cache_.memory().DescriptorsFor(terms.device.get(), 0);
    if (!fds.ok()) return fds;
    // From here on, nothing fails.
    if (auto given = std::exchange(seen, std::nullopt))
      spec_.order_member->Start(start.first_sample, *std::move(given));
    if (members_.Running() == 0) prefetcher_.StartEpoch();
    staging_.TryAgain();
    const BatchKey first =
        scheduler_.StartFor({start.epoch, start.first_sample}, samples);
    if (epochs_.vary()) batch_cache_.Forget(first.epoch);
    members_.Start(*members_.Find(member),
                   epochs_.Of(first.epoch, start.samples), first.first_sample,
                   Now());
    flows_ = members_.Flows();
    plan = PlanLocked();
  }
  // The caller makes the first slots itself: no thread of the executor is to
  // spend its time on clearing so much memory.
  const std::uint32_t slots = std::exchange(plan.first_slots, 0);
  Execute(std::move(plan));
  if (slots > 0) MakeFirstSlots(slots);
  return fds;
}

void Stream::Follow(const Stream& earlier) {
  if (!spec_.dataset->is_live()) return;
  base::MutexLock lock(&mutex_);
  scheduler_.Await(earlier.started_members_);
}

bool Stream::HasRoomFor(absl::Span<const FieldType> fields) const {
  return !spec_.dataset->is_live() ||
         std::equal(fields.begin(), fields.end(), spec_.fields.begin(),
                    spec_.fields.end(),
                    [](const FieldType& wanted, const FieldType& field) {
                      return wanted.value.bytes <= field.value.bytes;
                    });
}

absl::StatusOr<std::vector<base::Fd>> Stream::SlotsFrom(
    slots::MemberId member, std::uint32_t first) const {
  base::MutexLock lock(&mutex_);
  const Member* const m = members_.Find(member);
  if (m == nullptr) return std::vector<base::Fd>();
  return batch_cache_.memory().DescriptorsFor(m->device(), first);
}

void Stream::Stop(slots::MemberId member) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Member* const m = members_.Find(member);
    if (m == nullptr || !m->cursor().running()) return false;
    m->Stop();
    RetireLocked(*m);
    used_at_nanos_ = Now();
    return true;
  });
}

void Stream::RetireLocked(const Member& member) {
  const auto heir = [this](const BatchKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                        mutex_) -> std::optional<slots::MemberId> {
    const auto comes = [&](const auto& other) {
      return other->cursor().BatchesUntil(key).has_value();
    };
    std::vector<slots::MemberId> heirs = members_.ReadersOf(key);
    if (heirs.empty() && spec_.dataset->is_live()) {
      // A batch of a live dataset cannot be made again, so any member that
      // comes to it inherits it, however far behind.
      const auto heir = std::find_if(members_.begin(), members_.end(), comes);
      if (heir != members_.end()) return (*heir)->id();
      if (const auto resting_member = scheduler_.RestingMemberOf(key))
        return resting_member;
      scheduler_.Abandoned(key);
    }
    if (heirs.empty()) return std::nullopt;
    return heirs.front();
  };
  in_flight_.Retire(member.id(), heir, batch_cache_.pool());
  auto flows = members_.Flows();
  if (!flows.empty()) flows_ = std::move(flows);
}

void Stream::ReleaseIdleMemory() {
  LookAfterWorkers();
  Freed freed;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    prefetcher_.ReleaseIdleMemory();
    batch_cache_.TryAgain();
    staging_.TryAgain();
    members_.TakeReleases(batch_cache_.pool());
    CloseIfNoneIsOpenLocked(&freed);
    return true;
  });
}

bool Stream::Reclaim(std::int64_t idle_nanos) {
  Freed freed;
  base::MutexLock lock(&mutex_);
  const slots::SlotCounts counts = batch_cache_.pool().Counts();
  if (batch_cache_.pool().slots() == 0) return true;
  if (members_.Running() + starting_ > 0 ||
      Now() - used_at_nanos_ < idle_nanos ||
      counts.filling + counts.leased + batch_cache_.growing() > 0)
    return false;
  // A batch of a live dataset cannot be made again for members that come back.
  if (spec_.dataset->is_live() && scheduler_.AwaitsAny()) return false;
  for (const auto& member : members_) member->PauseNextUse();
  // Workers that lose a slot are replaced, and their state would be lost.
  if (batch_cache_.keeps() && !produced_->workers()->ended()) return false;
  freed.slots = batch_cache_.Clear();
  freed.staging = staging_.Trim(/*all=*/true);
  return true;
}

absl::Status Stream::TakeReleases(slots::MemberId member) {
  absl::Status status;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Member* const m = members_.Find(member);
    if (m == nullptr) return false;
    status = m->TakeReleases(batch_cache_.pool());
    if (m->closed()) PayForHeldLocked(*m);
    return true;
  });
  return status;
}

StreamSnapshot Stream::Snapshot(slots::MemberId member) {
  base::MutexLock lock(&mutex_);
  StreamSnapshot snapshot;
  snapshot.prefetch = prefetcher_.Snapshot();
  snapshot.samples_to_decode = samples_to_decode_;
  snapshot.slots_copying = in_flight_.Copying();
  snapshot.slots = batch_cache_.pool().slots();
  snapshot.slot_counts = batch_cache_.pool().Counts();
  Member* const m = members_.Find(member);
  if (m == nullptr) return snapshot;
  snapshot.epoch = m->cursor().epoch();
  snapshot.running = m->cursor().running();
  snapshot.leases = batch_cache_.pool().Leases(member);
  snapshot.depth = m->depth().target();
  snapshot.untaken = m->Account();
  snapshot.position = m->position();
  snapshot.counters = m->counters();
  snapshot.counters.set_batches_held(snapshot.held());
  snapshot.members = static_cast<std::uint32_t>(members_.Running());
  snapshot.sharing = scheduler_.SharingOf(*m, Now());
  return snapshot;
}

absl::StatusOr<SlotCopy> Stream::Peek() {
  const SlotSize& size = slot_size();
  SlotCopy copy;
  FOREBAY_ASSIGN_OR_RETURN(
      copy.reservation,
      deps_.budget->Reserve(size.host + size.device, "a peek"));
  SlotSource source;
  std::uint32_t slot;
  std::uint32_t generation;
  {
    base::MutexLock lock(&mutex_);
    const CompletedBatch* const last = batch_cache_.Find(publisher_.last());
    for (const DevicePtr& on : batch_cache_.memory().attached()) {
      if (last == nullptr || !last->StatusOn(on.get()).ok()) continue;
      source.device = on;
      source.part = batch_cache_.memory().part(on.get(), last->slot);
    }
    if (last == nullptr || !last->status.ok() ||
        (size.device > 0 && source.device == nullptr))
      return absl::UnavailableError("no batch to see just now: try again");
    slot = last->slot;
    batch_cache_.pool().Lease(slot, kPeeker);
    source.host = batch_cache_.memory().host(slot).data();
    generation = batch_cache_.pool().generation(slot);
  }
  auto bytes = CopySlot(source, size);
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    batch_cache_.pool().Release(slot, generation, kPeeker);
    return true;
  });
  FOREBAY_ASSIGN_OR_RETURN(copy.bytes, std::move(bytes));
  return copy;
}

// --- From members to completed batches.

void Stream::CountStartedLocked() {
  *started_members_ = static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const auto& member) { return member->has_started(); }));
}

Stream::Plan Stream::PlanLocked() {
  Plan plan;
  CountStartedLocked();
  AdvanceLocked(&plan);
  TellLookingLocked(&plan);
  while (auto task = tasks_.NextProduced())
    plan.tasks.push_back(*std::move(task));
  return plan;
}

void Stream::Update(absl::FunctionRef<bool()> change) {
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    if (!change()) return;
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

void Stream::AdvanceLocked(Plan* plan) {
  heard_ = members_.Heard();
  DeliverLocked();
  if (produced_ != nullptr) WantFirstSlotsLocked(plan);
  plan->grows |= scheduler_.Begin(Now());
  if (scheduler_.is_held()) plan->rechecks |= !std::exchange(rechecks_, true);
  if (members_.Running() > 0) plan->staging += staging_.Grow();
  ChargeLocked(plan);
  ReadLocked(plan);
  if (alive_ == nullptr && !plan->requests.empty()) alive_ = shared_from_this();
}

void Stream::WantFirstSlotsLocked(Plan* plan) {
  const auto runs = [](const auto& member) {
    return member->cursor().running();
  };
  const auto member = std::find_if(members_.begin(), members_.end(), runs);
  if (member == members_.end()) return;
  const std::uint32_t slots = (*member)->terms().slots;
  std::vector<const device::Device*> devices;
  for (const auto& one : members_)
    if (runs(one)) devices.push_back(one->device());
  if (batch_cache_.GrowFirst(slots, devices)) plan->first_slots = slots;
}

void Stream::EndEpochLocked(Member& member, const absl::Status& status) {
  member.Close(status);
  RetireLocked(member);
  used_at_nanos_ = Now();
}

void Stream::EndAllEpochs(const absl::Status& status) {
  // ABORTED is also the code of samples for which there is no worker.
  const absl::Status ended = absl::IsUnavailable(status)
                                 ? absl::AbortedError(status.message())
                                 : status;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& member : members_) {
      if (!ended.ok() && member->cursor().running())
        EndEpochLocked(*member, ended);
    }
    return true;
  });
}

void Stream::LookAfterWorkers() {
  if (produced_ == nullptr) return;
  // A sample with worker affinity can be made only by its own worker.
  const bool is_bound = spec_.dataset->lanes() > 0;
  worker::WorkerSet::Need need{.may_retry = !is_bound};
  {
    base::MutexLock lock(&mutex_);
    const std::int64_t now = Now();
    if (now - looked_at_nanos_ < kLookNanos) return;
    looked_at_nanos_ = now;
    need.is_awaited = members_.LookAtWaits() > kAwaitedNanos;
    need.task_nanos = tasks_.cost().task_nanos();
  }
  produced_->workers()->Look(need);
  const std::int64_t silent = produced_->workers()->SilentNanos();
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pool_stands_still_ = silent > kOthersPoolNanos;
    bool ended = false;
    for (const auto& member : members_) {
      if (!pool_stands_still_) member->SawPoolWork();
      const bool is_own = member->id() == pool_owner_;
      const std::int64_t limit = is_own ? kOwnPoolNanos : kOthersPoolNanos;
      if (!member->cursor().running() || silent <= limit ||
          member->WaitedForWorkerPool() <= limit || spec_.dataset->is_live())
        continue;
      EndEpochLocked(*member, PoolStandsStill(is_own));
      ended = true;
    }
    return ended;
  });
}

void Stream::TellLookingLocked(Plan* plan) {
  while (members_.SetLooking(at_work_ > 0)) {
    // A member may have pushed releases before it saw that polling ended.
    members_.TakeReleases(batch_cache_.pool());
    if (members_.Heard() != heard_) AdvanceLocked(plan);
  }
}

void Stream::EnterLocked() {
  ++at_work_;
  members_.SetLooking(true);
}

void Stream::Leave() {
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    --at_work_;
    TellLookingLocked(&plan);
  }
  Execute(std::move(plan));
}

void Stream::Execute(Plan plan) {
  // Slots are charged to nobody, so that no present or later cap holds them up.
  using schedule::kNobody;
  if (plan.first_slots > 0) {
    deps_.executor->Submit(
        kNobody, slot_maker_.DemandOfSlots(plan.first_slots),
        [self = shared_from_this(), slots = plan.first_slots](int) {
          self->MakeFirstSlots(slots);
        });
  }
  if (plan.grows) {
    deps_.executor->Submit(
        kNobody, slot_maker_.DemandOfSlots(1),
        [self = shared_from_this()](int) { self->MakeSlot(); });
  }
  if (plan.staging > 0) {
    deps_.executor->Submit(kNobody, SlotMaker::DemandOfStaging(),
                           [self = shared_from_this(), batches = plan.staging](
                               int) { self->MakeStaging(batches); });
  }
  if (plan.rechecks) Recheck();
  if (!plan.requests.empty()) deps_.source->Read(absl::MakeSpan(plan.requests));
  for (SampleTask& task : plan.tasks) Submit(std::move(task));
}

void Stream::Recheck() {
  constexpr std::int64_t kSoonNanos = 5'000'000;
  // If there is no waiter, the next ReleaseIdleMemory plans again.
  if (deps_.answer_waiter == nullptr) return;
  deps_.answer_waiter->PostAfter(kSoonNanos, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
      self->rechecks_ = false;
      return true;
    });
  });
}

void Stream::MakeSlot() {
  slot_maker_.MakeSlots(1, [self = shared_from_this()](auto made) {
    self->OnSlot(std::move(made));
  });
}

void Stream::OnSlot(absl::StatusOr<std::vector<SlotParts>> made) {
  const absl::Status status = made.status();
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (made.ok()) {
      batch_cache_.Grown(&*made);
    } else {
      batch_cache_.NotGrown();
    }
    return true;
  });
  aside_.End(std::move(made));
  if (status.ok() || produced_ == nullptr || spec_.dataset->is_live()) return;
  // Several members would wait for slots that others hold, so their epochs end.
  // A single member goes on with the slots that it has.
  if (worker::IsPoolLack(status) && IsShared()) {
    EndAllEpochs(status);
  } else {
    EndAllEpochs(produced_->workers()->CheckPool());
  }
}

bool Stream::IsShared() const {
  base::MutexLock lock(&mutex_);
  return members_.Running() > 1;
}

void Stream::MakeFirstSlots(std::uint32_t slots) {
  slot_maker_.MakeSlots(slots, [self = shared_from_this(), slots](auto made) {
    self->OnFirstSlots(slots, std::move(made));
  });
}

void Stream::OnFirstSlots(std::uint32_t slots,
                          absl::StatusOr<std::vector<SlotParts>> made) {
  if (made.ok()) {
    OnSlot(std::move(made));
    return;
  }
  {
    base::MutexLock lock(&mutex_);
    batch_cache_.NotGrown(slots);
  }
  EndAllEpochs(made.status());
}

void Stream::MakeStaging(std::uint32_t batches) {
  slot_maker_.MakeStaging(batches,
                          [self = shared_from_this(), batches](auto made) {
                            self->OnStaging(batches, std::move(made));
                          });
}

void Stream::OnStaging(std::uint32_t batches,
                       absl::StatusOr<std::vector<StagingPool::Memory>> made) {
  const absl::Status status = made.status();
  if (!made.ok()) made.emplace();
  bool can_go_on = true;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    staging_.Grown(batches, &*made);
    can_go_on = status.ok() || !staging_.IsEmpty();
    return true;
  });
  if (!can_go_on) EndAllEpochs(status);
}

// --- From completed batches to members.

void Stream::DeliverLocked() {
  const std::int64_t now = Now();
  scheduler_.PassOver();
  publisher_.Publish(
      now, [&](const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        RetireLocked(member);
        used_at_nanos_ = now;
      });
}

// --- From credits to reads.

void Stream::ChargeLocked(Plan* plan) {
  for (const std::unique_ptr<Batch>& batch : in_flight_.batches()) {
    const Flows capped = members_.CappedFlows(batch->key);
    batch->capped = !capped.empty();
    const Flows& charged = batch->capped ? capped : flows_;
    if (charged != batch->charged) ChargeToLocked(*batch, charged, plan);
  }
}

void Stream::ChargeToLocked(Batch& batch, const Flows& charged, Plan* plan) {
  const Flows before = std::exchange(batch.charged, charged);
  // A batch that was not charged before has no requested samples.
  if (before.empty()) return;
  large_->Charge(&batch, charged);
  tasks_.Move(batch, before, charged);
  while (auto task = tasks_.Next(charged))
    plan->tasks.push_back(*std::move(task));
  const auto is_new = [&before](schedule::Flow flow) {
    return std::find(before.begin(), before.end(), flow) == before.end();
  };
  if (std::none_of(charged.begin(), charged.end(), is_new)) return;
  // A cap, or a limit of stalled reads, may hold up the reads of the first
  // payers. In the cache, a second request for the same bytes joins the first,
  // and its payers pay a part.
  const auto payers = std::make_shared<const Flows>(charged);
  for (const PendingSample& pending : batch.samples) {
    if (!pending.reading) continue;
    auto again = prefetcher_.RequestAgain(pending, *members_.Find(batch.payer));
    if (!again.has_value()) continue;
    SetPayers(payers, &*again);
    plan->requests.push_back(*std::move(again));
  }
}

void Stream::SetPayers(const Payers& payers, storage::ReadRequest* request) {
  if (payers->size() > 1 || payers->front() != request->purpose.job)
    request->purpose.payers = payers;
}

void Stream::ReadLocked(Plan* plan) {
  if (members_.Running() == 0 || !prefetcher_.HasRoom()) return;
  plan->requests.reserve(plan->requests.size() + in_flight_.waiting());
  const std::int64_t now = Now();
  const auto find = [this](slots::MemberId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                        mutex_) { return members_.Find(id); };
  Payers payers;
  prefetcher_.Ask(now);
  while (auto read = prefetcher_.Next(in_flight_, find)) {
    const Flows& charged = read->pending->batch->charged;
    if (payers == nullptr || *payers != charged)
      payers = std::make_shared<const Flows>(charged);
    SetPayers(payers, &read->request);
    // The capture is small enough that std::function allocates nothing.
    read->request.done = [this, pending = read->pending](
                             absl::StatusOr<storage::ReadResult> result) {
      OnRead(pending, std::move(result));
    };
    plan->requests.push_back(std::move(read->request));
  }
  for (const auto& member : members_) {
    if (member->cursor().running())
      member->Asked(scheduler_.AskedFor(*member), now);
  }
}

// --- From bytes to pixels.

void Stream::OnRead(PendingSample* pending,
                    absl::StatusOr<storage::ReadResult> result) {
  const absl::Status status = result.status();
  // Keeps the stream alive until the end of this function.
  std::shared_ptr<Stream> self;
  std::optional<SampleTask> task;
  {
    base::MutexLock lock(&mutex_);
    self = alive_;
    prefetcher_.Arrived(*pending);
    if (prefetcher_.reads_in_flight() == 0) alive_ = nullptr;
    ++samples_to_decode_;
    ++pending->batch->to_decode;
    if (status.ok()) {
      pending->variant = result->variant;
      pending->revision = result->revision;
      proto::LoaderCounters& counters = members_.CountersOf(*pending);
      counters.set_bytes_read(counters.bytes_read() + pending->length);
      tasks_.Add({.pending = pending,
                  .bytes = std::move(result->bytes),
                  .status = {}});
      task = tasks_.Next(pending->batch->charged);
    } else {
      EnterLocked();
    }
  }
  if (status.ok()) {
    Submit(std::move(task));
    return;
  }
  const ReadSample failed{.pending = pending,
                          .bytes = {},
                          .status = maker_.AnnotateError(*pending, status)};
  Finish({&failed, 1}, 0);
}

void Stream::Submit(std::optional<SampleTask> task) {
  if (!task.has_value()) return;
  const absl::Span<const schedule::Flow> flows = task->flows;
  deps_.executor->SubmitFor(
      flows, task->demand,
      [self = shared_from_this(), task = *task](int place) {
        if (self->produced_ == nullptr) {
          self->RunTask(place, task);
        } else {
          self->Produce(place, task);
        }
      });
}

void Stream::Produce(int place, const SampleTask& task) {
  std::vector<ReadSample> samples;
  std::vector<SampleTask> more;
  {
    base::MutexLock lock(&mutex_);
    samples = tasks_.Take(task);
    // The task may have left samples for another worker.
    while (auto next = tasks_.NextProduced()) more.push_back(*std::move(next));
  }
  for (SampleTask& next : more) Submit(std::move(next));
  const std::int64_t own_nanos =
      spec_.user_code() == nullptr ? 0 : PutInUserBuffers(place, &samples);
  // Make may take long, so this thread does not count as polling for releases.
  produced_->Make(place, std::move(samples),
                  [self = shared_from_this(), affinity = task.affinity,
                   own_nanos](ProducedSamples::Outcome outcome) {
                    const auto count =
                        static_cast<std::int64_t>(outcome.samples.size());
                    if (outcome.took_nanos.has_value())
                      self->NoteTime(*outcome.took_nanos / count);
                    outcome.cpu_nanos += own_nanos;
                    self->OnProduced(std::move(outcome), affinity);
                  });
}

void Stream::SubmitFor(const PendingSample& pending,
                       executor::Executor::Task task) {
  Flows flows;
  executor::Demand demand;
  {
    base::MutexLock lock(&mutex_);
    flows = pending.batch->charged;
    demand = tasks_.DemandOf(pending, /*samples=*/1);
  }
  const absl::Span<const schedule::Flow> payers = flows;
  deps_.executor->SubmitFor(payers, demand, std::move(task));
}

void Stream::NoteTime(std::int64_t nanos) {
  base::MutexLock lock(&mutex_);
  tasks_.cost().Took(nanos);
}

std::int64_t Stream::PutInUserBuffers(int place,
                                      std::vector<ReadSample>* samples) {
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : *samples)
    maker_.PutInUserBuffer(&sample, *(*deps_.workspaces)[place]);
  MakeLargeInTurn(samples);
  for (ReadSample& sample : *samples) sample.bytes = {};
  return base::Clock::ThreadCpu()->NowNanos() - started;
}

std::int64_t Stream::TakeFromUserBuffers(int place,
                                         std::vector<ReadSample>* samples) {
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : *samples)
    maker_.TakeFromUserBuffer(&sample, *(*deps_.workspaces)[place]);
  return base::Clock::ThreadCpu()->NowNanos() - started;
}

void Stream::OnProduced(ProducedSamples::Outcome outcome,
                        std::optional<std::uint32_t> affinity) {
  std::vector<ReadSample>& samples = outcome.samples;
  if (spec_.user_code() != nullptr && !outcome.place.has_value() &&
      !samples.empty()) {
    TakeLater(std::move(outcome), affinity);
    return;
  }
  const auto lost =
      std::partition(samples.begin(), samples.end(),
                     [](const ReadSample& sample) { return !sample.lost; });
  {
    base::MutexLock lock(&mutex_);
    EnterLocked();
    tasks_.EndProduced(affinity);
    for (auto sample = lost; sample != samples.end(); ++sample)
      MakeAgainLocked(std::move(*sample));
  }
  samples.erase(lost, samples.end());
  if (spec_.user_code() != nullptr && outcome.place.has_value())
    outcome.cpu_nanos += TakeFromUserBuffers(*outcome.place, &samples);
  Finish(samples, outcome.cpu_nanos);
}

void Stream::MakeAgainLocked(ReadSample sample) {
  sample.lost = false;
  // The user's code may have changed the buffer, so the sample is read again.
  if (sample.laid && in_flight_.ReadAgain(*sample.pending)) {
    --samples_to_decode_;
    --sample.pending->batch->to_decode;
    prefetcher_.Leave(*sample.pending);
    return;
  }
  tasks_.AddAgain(std::move(sample));
}

void Stream::TakeLater(ProducedSamples::Outcome outcome,
                       std::optional<std::uint32_t> affinity) {
  // A std::function must be copyable.
  const auto shared =
      std::make_shared<ProducedSamples::Outcome>(std::move(outcome));
  SubmitFor(*shared->samples.front().pending,
            [self = shared_from_this(), shared, affinity](int place) {
              shared->place = place;
              self->OnProduced(std::move(*shared), affinity);
            });
}

void Stream::RunTask(int place, const SampleTask& task) {
  std::vector<ReadSample> samples;
  std::optional<SampleTask> next;
  bool is_known = false;
  {
    base::MutexLock lock(&mutex_);
    EnterLocked();
    samples = tasks_.Take(task);
    next = tasks_.Next(task.flows);
    is_known = tasks_.cost().is_known();
  }
  Submit(std::move(next));
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  std::vector<ReadSample> rest = MakeSome(place, &samples);
  const std::int64_t cpu_nanos = base::Clock::ThreadCpu()->NowNanos() - started;
  MakeLargeInTurn(&samples);
  // The bytes are freed before Finish gives back their part of the read window.
  for (ReadSample& sample : samples) sample.bytes = {};
  Finish(samples, cpu_nanos);
  if (!is_known || !rest.empty()) SubmitMore(task.flows, std::move(rest));
}

std::vector<ReadSample> Stream::MakeSome(int place,
                                         std::vector<ReadSample>* samples) {
  const std::int64_t end = Now() + executor::kLongTaskNanos;
  auto next = samples->begin();
  while (next != samples->end()) {
    maker_.Make(&*next++, *(*deps_.workspaces)[place]);
    if (Now() >= end) break;
  }
  std::vector<ReadSample> rest(std::make_move_iterator(next),
                               std::make_move_iterator(samples->end()));
  samples->erase(next, samples->end());
  return rest;
}

void Stream::SubmitMore(const Flows& flows, std::vector<ReadSample> rest) {
  std::vector<SampleTask> tasks;
  {
    base::MutexLock lock(&mutex_);
    tasks_.EndGuessed(flows);
    const auto want = [&](const Flows& wanting)
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            while (auto task = tasks_.Next(wanting))
                              tasks.push_back(*std::move(task));
                          };
    for (auto sample = rest.rbegin(); sample != rest.rend(); ++sample) {
      const Batch& batch = *sample->pending->batch;
      tasks_.AddAgain(std::move(*sample));
      want(batch.charged);
    }
    want(flows);
  }
  for (SampleTask& task : tasks) Submit(std::move(task));
}

void Stream::MakeLargeInTurn(std::vector<ReadSample>* samples) {
  const auto large = std::partition(
      samples->begin(), samples->end(),
      [](const ReadSample& sample) { return !sample.too_large; });
  std::for_each(large, samples->end(),
                [this](ReadSample& sample) { MakeInTurn(std::move(sample)); });
  samples->erase(large, samples->end());
}

void Stream::MakeInTurn(ReadSample sample) {
  PendingSample* const pending = sample.pending;
  sample::LargeSamples::Sample large{
      .batch = pending->batch, .demand = {}, .make = {}};
  large.make = [weak = weak_from_this(), pending,
                bytes = std::move(sample.bytes)](
                   pipeline::Workspace& shared) mutable {
    const std::shared_ptr<Stream> self = weak.lock();
    if (self == nullptr) return false;
    {
      base::MutexLock lock(&self->mutex_);
      self->EnterLocked();
    }
    ReadSample again{
        .pending = pending, .bytes = std::move(bytes), .status = {}};
    const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
    self->maker_.Make(&again, shared);
    again.bytes = {};
    const bool made = again.made;
    again.laid = made && again.status.ok();
    if (again.laid && self->spec_.user_code() != nullptr) {
      self->QueueAgain(std::move(again));
    } else {
      self->Finish({&again, 1}, base::Clock::ThreadCpu()->NowNanos() - started);
    }
    return made;
  };
  base::MutexLock lock(&mutex_);
  large.demand = tasks_.DemandOf(*pending, /*samples=*/1);
  large_->Add(pending->batch->charged, std::move(large));
}

void Stream::QueueAgain(ReadSample sample) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    tasks_.AddAgain(std::move(sample));
    return true;
  });
  Leave();
}

void Stream::Finish(absl::Span<const ReadSample> samples,
                    std::int64_t cpu_nanos) {
  for (const ReadSample& sample : samples) {
    if (absl::IsFailedPrecondition(sample.status) ||
        absl::IsNotFound(sample.status)) {
      deps_.on_changed(*spec_.dataset);
    }
  }
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    BookLocked(samples, cpu_nanos);
    const std::int64_t now = Now();
    for (const ReadSample& sample : samples) FinishSampleLocked(sample, now);
    members_.TakeReleases(batch_cache_.pool());
    return true;
  });
  Leave();
}

void Stream::BookLocked(absl::Span<const ReadSample> samples,
                        std::int64_t cpu_nanos) {
  const std::int64_t made_samples =
      std::count_if(samples.begin(), samples.end(),
                    [](const ReadSample& sample) { return sample.made; });
  if (made_samples == 0) return;
  tasks_.cost().Measured(cpu_nanos / made_samples);
  for (const ReadSample& sample : samples) {
    if (!sample.made) continue;
    proto::LoaderCounters& counters = members_.CountersOf(*sample.pending);
    if (sample.pending->variant == storage::kEncoded)
      counters.set_samples_decoded(counters.samples_decoded() + 1);
    counters.set_cpu_nanos(
        counters.cpu_nanos() +
        static_cast<std::uint64_t>(cpu_nanos / made_samples));
  }
}

void Stream::FinishSampleLocked(const ReadSample& sample,
                                std::int64_t now_nanos) {
  --samples_to_decode_;
  --sample.pending->batch->to_decode;
  sample.pending->batch->moved_at_nanos = now_nanos;
  prefetcher_.Leave(*sample.pending);
  if (!sample.status.ok() && !sample.refused &&
      in_flight_.Substitute(*sample.pending, sample.status)) {
    proto::LoaderCounters& counters = members_.CountersOf(*sample.pending);
    counters.set_samples_substituted(counters.samples_substituted() + 1);
    return;
  }
  Batch* const batch =
      in_flight_.Finish(*sample.pending, sample.status, batch_cache_.pool());
  if (batch != nullptr)
    completion_.Complete(*batch, CopiedOf(batch), now_nanos);
}

// --- From pixels to completed batches.

BatchCompletion::Copied Stream::CopiedOf(Batch* batch) {
  return [self = shared_from_this(), batch](const CopyEnd& copy) {
    self->OnCopied(batch, copy);
  };
}

void Stream::OnCopied(Batch* batch, const CopyEnd& copy) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    completion_.EndCopy(*batch, copy, CopiedOf(batch), Now());
    return true;
  });
}

}  // namespace forebay::stream
