// What a stream is asked to do, and how it is seen from outside; how it makes
// its batches is in production.cc.
#include "server/stream/stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/shm_ring.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"
#include "server/stream/sharing_snapshot.h"

namespace forebay::stream {
namespace {

// MemberId of the lease under which Peek copies; members count from 1.
constexpr arena::MemberId kPeeker = 0;
// Descriptors that go with one message: the kernel takes 253.
constexpr std::uint32_t kMaxDescriptors = 250;

}  // namespace

absl::StatusOr<std::shared_ptr<Stream>> Stream::Create(
    StreamSpec spec, StreamDeps deps, SharingMode sharing_mode) {
  FOREBAY_RETURN_IF_ERROR(
      BatchLayout::CheckSize(spec.fields, spec.batch.batch_size()));
  const BatchLayout layout(spec.fields, spec.batch.batch_size());
  FOREBAY_ASSIGN_OR_RETURN(auto read_window,
                           ReserveReadWindow(deps.budget, *spec.dataset));
  return std::shared_ptr<Stream>(new Stream(std::move(spec), std::move(deps),
                                            sharing_mode, layout,
                                            std::move(read_window)));
}

Stream::Stream(StreamSpec spec, StreamDeps deps, SharingMode sharing_mode,
               const BatchLayout& layout, base::MemoryReservation read_window)
    : spec_(std::move(spec)),
      deps_(std::move(deps)),
      layout_(layout),
      variants_(&spec_, deps_.variant_store),
      maker_(&spec_, &layout_, &variants_),
      large_(std::make_shared<LargeSamples>(deps_.executor,
                                            deps_.shared_workspace)),
      prefetcher_(&spec_, variants_.variant(), deps_.budget,
                  std::move(read_window)),
      batch_cache_(deps_.budget, layout_.slot_bytes()),
      members_(spec_.batch, {.next_use_registry = deps_.next_use_registry,
                             .dataset = spec_.dataset}),
      in_flight_(spec_.batch, spec_.seed, spec_.dataset->size()),
      scheduler_(sharing_mode, &members_, &batch_cache_, &in_flight_),
      publisher_(&members_, &batch_cache_) {}

std::uint64_t Stream::samples_per_epoch() const {
  if (!spec_.sampler.is_listed()) return spec_.sampler.samples_per_epoch();
  base::MutexLock lock(&mutex_);
  return epoch_pairs_.empty() ? 0 : epoch_pairs_.back()->samples();
}

std::uint64_t Stream::batches_per_epoch() const {
  const std::uint64_t samples = samples_per_epoch();
  const std::uint64_t size = spec_.batch.batch_size();
  return spec_.batch.drop_last() ? samples / size : (samples + size - 1) / size;
}

absl::StatusOr<arena::MemberId> Stream::Join(arena::Channel* channel,
                                             schedule::Flow flow,
                                             std::uint32_t depth) {
  const std::uint32_t slots = SlotsFor(depth);
  base::MutexLock lock(&mutex_);
  FOREBAY_RETURN_IF_ERROR(batch_cache_.Pay(slots));
  if (absl::Status opened = prefetcher_.Open(); !opened.ok()) {
    batch_cache_.EndPay(slots);
    return opened;
  }
  return members_.Join(channel, {.flow = flow, .slots = slots}).holder();
}

void Stream::SetCapped(arena::MemberId member, bool capped) {
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    Member* const m = members_.Find(member);
    if (m == nullptr || std::exchange(m->capped, capped) == capped) return;
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

void Stream::Forfeit(arena::MemberId member) {
  Stop(member);
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    const Member* const m = members_.Find(member);
    if (m == nullptr) return;
    const std::uint32_t slots = m->terms().slots;
    batch_cache_.pool().ReleaseAll(member);
    members_.Remove(member);
    batch_cache_.EndPay(slots);
    // A cap may hold up for long what keeps the stream.
    CloseIfNobodyPaysLocked();
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

void Stream::Close(arena::MemberId member) {
  Stop(member);
  base::MutexLock lock(&mutex_);
  Member* const m = members_.Find(member);
  if (m != nullptr) batch_cache_.EndPay(m->EndPaying());
  CloseIfNobodyPaysLocked();
}

void Stream::CloseIfNobodyPaysLocked() {
  if (members_.AnyPaying()) return;
  batch_cache_.Trim();
  prefetcher_.Close();
}

bool Stream::Holds(arena::MemberId member) {
  // A client that released garbage holds the rest for as long as it lives.
  TakeReleases(member).IgnoreError();
  base::MutexLock lock(&mutex_);
  return batch_cache_.pool().Leases(member) > 0;
}

absl::Status Stream::MakeSlots(std::uint32_t slots) {
  {
    base::MutexLock lock(&mutex_);
    used_at_nanos_ = Now();
    if (batch_cache_.pool().slots() > 0) return absl::OkStatus();
  }
  // More than one member may be at it: who comes later drops what it has made.
  FOREBAY_ASSIGN_OR_RETURN(auto memory,
                           arena::SlotPool::MakeMemory(slots, slot_bytes()));
  base::MutexLock lock(&mutex_);
  if (batch_cache_.pool().slots() == 0)
    batch_cache_.pool().Add(std::move(memory));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<base::Fd>> Stream::Start(
    arena::MemberId member, std::uint64_t epoch, std::uint64_t first_sample,
    const std::shared_ptr<const base::IndexList>& list) {
  FOREBAY_RETURN_IF_ERROR(sampler::Sampler::CheckEpoch(epoch));
  const auto order = spec_.order_member == nullptr ? list : nullptr;
  FOREBAY_RETURN_IF_ERROR(spec_.sampler.CheckList(order.get()));
  const std::uint64_t samples = spec_.sampler.Epoch(epoch, order).samples();
  if (first_sample > samples) {
    return absl::OutOfRangeError(absl::StrCat(
        "sample ", first_sample, " of an epoch that has ", samples));
  }
  std::uint32_t slots;
  {
    base::MutexLock lock(&mutex_);
    Member* const m = members_.Find(member);
    if (m == nullptr || m->cursor().running())
      return absl::FailedPreconditionError("an epoch is under way");
    slots = m->terms().slots;
    m->Account();
    // Room for a batch of each slot and a closing entry.
    if (m->untaken() + slots + 1 > proto::kReadyCapacity) {
      return absl::FailedPreconditionError(
          "a member takes nothing of what is published");
    }
    // Slots that nobody has paid for go while nobody knows them.
    if (members_.Running() == 0) batch_cache_.Trim();
  }
  FOREBAY_RETURN_IF_ERROR(MakeSlots(slots));
  std::vector<base::Fd> fds;
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    FOREBAY_ASSIGN_OR_RETURN(fds, SlotsFromLocked(0));
    // The last that may fail: an epoch that cannot be started leaves the order
    // of the others' samples as it was.
    if (spec_.order_member != nullptr) {
      FOREBAY_RETURN_IF_ERROR(
          spec_.order_member->Start(first_sample, list.get()));
    }
    if (members_.Running() == 0) prefetcher_.StartEpoch();
    members_.Start(*members_.Find(member), EpochsLocked(epoch, order),
                   first_sample, Now());
    flows_ = members_.Flows();
    plan = PlanLocked();
  }
  Execute(std::move(plan));
  return fds;
}

std::shared_ptr<const EpochPair> Stream::EpochsLocked(
    std::uint64_t epoch, const std::shared_ptr<const base::IndexList>& list) {
  if (spec_.sampler.is_listed() || spec_.sampler.is_drawn()) {
    // The same epoch may be another one now: nothing of it is kept.
    batch_cache_.Forget(epoch);
    epoch_pairs_ = {EpochPair::Of(spec_.sampler, epoch, list)};
    return epoch_pairs_.back();
  }
  std::erase_if(epoch_pairs_,
                [&](const std::shared_ptr<const EpochPair>& epochs) {
                  return epochs.use_count() == 1 && epochs->epoch() != epoch;
                });
  for (const std::shared_ptr<const EpochPair>& epochs : epoch_pairs_) {
    if (epochs->epoch() == epoch) return epochs;
  }
  epoch_pairs_.push_back(EpochPair::Of(spec_.sampler, epoch));
  return epoch_pairs_.back();
}

absl::StatusOr<std::vector<base::Fd>> Stream::SlotsFrom(
    std::uint32_t first) const {
  base::MutexLock lock(&mutex_);
  return SlotsFromLocked(first);
}

absl::StatusOr<std::vector<base::Fd>> Stream::SlotsFromLocked(
    std::uint32_t first) const {
  std::vector<base::Fd> fds;
  const arena::SlotPool& pool = batch_cache_.pool();
  for (std::uint32_t slot = first;
       slot < pool.slots() && fds.size() < kMaxDescriptors; ++slot) {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, base::Duplicate(pool.fd(slot)));
    fds.push_back(std::move(fd));
  }
  return fds;
}

void Stream::Stop(arena::MemberId member) {
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    Member* const m = members_.Find(member);
    if (m == nullptr || !m->cursor().running()) return;
    m->Stop();
    RetireLocked(*m);
    used_at_nanos_ = Now();
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

void Stream::RetireLocked(const Member& member) {
  const auto heir = [this](const BatchKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                        mutex_) -> std::optional<arena::MemberId> {
    const std::vector<arena::MemberId> heirs = members_.ReadersOf(key);
    if (heirs.empty()) return std::nullopt;
    return heirs.front();
  };
  in_flight_.Retire(member.holder(), heir, batch_cache_.pool());
  auto flows = members_.Flows();
  if (!flows.empty()) flows_ = std::move(flows);
}

void Stream::Rest() {
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    prefetcher_.Rest();
    batch_cache_.TryAgain();
    CloseIfNobodyPaysLocked();
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

bool Stream::Reclaim(std::int64_t idle_nanos) {
  // Unmapping takes milliseconds: it happens after the mutex is free.
  std::optional<arena::SlotPool> reclaimed;
  base::MutexLock lock(&mutex_);
  const arena::SlotCounts counts = batch_cache_.pool().Counts();
  if (batch_cache_.pool().slots() == 0) return true;
  if (members_.Running() > 0 || Now() - used_at_nanos_ < idle_nanos ||
      counts.filling + counts.leased + batch_cache_.growing() > 0)
    return false;
  reclaimed = batch_cache_.Clear();
  for (const auto& member : members_) member->Rest();
  return true;
}

absl::Status Stream::TakeReleases(arena::MemberId member) {
  absl::Status status;
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    Member* m = members_.Find(member);
    if (m == nullptr) return absl::OkStatus();
    status = m->TakeReleases(batch_cache_.pool());
    plan = PlanLocked();
  }
  Execute(std::move(plan));
  return status;
}

StreamSnapshot Stream::Snapshot(arena::MemberId member) {
  base::MutexLock lock(&mutex_);
  StreamSnapshot snapshot;
  snapshot.prefetch = prefetcher_.Snapshot();
  snapshot.samples_to_decode = samples_to_decode_;
  snapshot.slots = batch_cache_.pool().slots();
  snapshot.slot_counts = batch_cache_.pool().Counts();
  Member* const m = members_.Find(member);
  if (m == nullptr) return snapshot;
  snapshot.epoch = m->cursor().epoch();
  snapshot.running = m->cursor().running();
  snapshot.leases = batch_cache_.pool().Leases(member);
  snapshot.depth = m->depth().target();
  snapshot.made = m->production();
  snapshot.taken = m->Account();
  const SharingSnapshot sharing = SharingOf(*m, members_, scheduler_, Now());
  snapshot.members = sharing.running;
  snapshot.behind = sharing.behind;
  snapshot.sharing_state = sharing.sharing_state;
  return snapshot;
}

absl::StatusOr<SlotCopy> Stream::Peek() {
  SlotCopy copy;
  FOREBAY_ASSIGN_OR_RETURN(copy.reservation,
                           deps_.budget->Reserve(slot_bytes(), "a peek"));
  const std::uint8_t* data;
  std::uint32_t slot;
  std::uint32_t generation;
  {
    base::MutexLock lock(&mutex_);
    const CompletedBatch* const last = batch_cache_.Find(publisher_.last());
    if (last == nullptr || !last->status.ok())
      return absl::UnavailableError("no batch to see just now: try again");
    slot = last->slot;
    batch_cache_.pool().Lease(slot, kPeeker);
    data = batch_cache_.pool().data(slot);
    generation = batch_cache_.pool().generation(slot);
  }
  copy.bytes.assign(data, data + slot_bytes());
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    batch_cache_.pool().Release(slot, generation, kPeeker);
    plan = PlanLocked();
  }
  Execute(std::move(plan));
  return copy;
}

}  // namespace forebay::stream
