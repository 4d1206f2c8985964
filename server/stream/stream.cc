// How a stream works. A free slot begins a batch on the production line, if the
// trainer's consumption wants so many; its places are read in order while the
// read window has room (PlanLocked), whoever finishes a sample asking for more.
// Places whose bytes have come wait in the backlog until a worker's task
// decodes some of them, straight into the slot. When the front batch has no
// place left it is published; batches behind it wait for their turn.
#include "server/stream/stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/shm_ring.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

// Holder of the lease under which Peek copies; members count from 1.
constexpr arena::Holder kPeeker = 0;

}  // namespace

absl::StatusOr<std::shared_ptr<Stream>> Stream::Create(Recipe recipe,
                                                       Machinery machinery,
                                                       schedule::Flow flow) {
  const BatchLayout layout(recipe.fields, recipe.batch.batch_size());
  FOREBAY_ASSIGN_OR_RETURN(
      Provision provision,
      Provision::Reserve(machinery.budget, recipe, layout.slot_bytes()));
  return std::shared_ptr<Stream>(new Stream(std::move(recipe),
                                            std::move(machinery), flow, layout,
                                            std::move(provision)));
}

Stream::Stream(Recipe recipe, Machinery machinery, schedule::Flow flow,
               const BatchLayout& layout, Provision provision)
    : recipe_(std::move(recipe)),
      machinery_(std::move(machinery)),
      flow_(flow),
      layout_(layout),
      forms_(&recipe_, machinery_.form_keeper),
      maker_(&recipe_, &layout_, &forms_),
      provision_(std::move(provision)),
      intake_(&recipe_, forms_.form(), flow, machinery_.budget,
              provision_.slots(), provision_.TakeReadWindow()),
      itinerary_(std::make_shared<Itinerary>(recipe_.sampler)),
      listings_(machinery_.timetable, recipe_.dataset, itinerary_),
      line_(recipe_.sampler, recipe_.batch, recipe_.seed,
            recipe_.dataset->size()),
      backlog_(machinery_.executor->workers()) {}

std::uint64_t Stream::samples_per_epoch() const {
  base::MutexLock lock(&mutex_);
  return line_.order().samples();
}

std::uint64_t Stream::batches_per_epoch() const {
  base::MutexLock lock(&mutex_);
  return line_.batches_per_epoch();
}

arena::Holder Stream::Join(arena::Channel* channel) {
  base::MutexLock lock(&mutex_);
  return audience_.Join(channel);
}

void Stream::Forfeit(arena::Holder member) {
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    audience_.Remove(member);
    if (pool_.has_value()) pool_->ReleaseAll(member);
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

bool Stream::Holds(arena::Holder member) const {
  base::MutexLock lock(&mutex_);
  return pool_.has_value() && pool_->HasLeases(member);
}

absl::Status Stream::MakeSlots() {
  {
    base::MutexLock lock(&mutex_);
    if (running_) return absl::FailedPreconditionError("an epoch is under way");
    if (pool_.has_value()) return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(
      auto pool, arena::SlotPool::Create(provision_.slots(), slot_bytes()));
  base::MutexLock lock(&mutex_);
  pool_ = std::move(pool);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<base::Fd>> Stream::Start(
    std::uint64_t epoch, std::uint64_t first_sample,
    const std::shared_ptr<const base::IndexList>& list) {
  FOREBAY_RETURN_IF_ERROR(recipe_.sampler.CheckList(list.get()));
  const std::uint64_t samples = recipe_.sampler.Epoch(epoch, list).samples();
  if (first_sample > samples) {
    return absl::OutOfRangeError(absl::StrCat(
        "sample ", first_sample, " of an epoch that has ", samples));
  }
  FOREBAY_RETURN_IF_ERROR(MakeSlots());
  std::vector<base::Fd> fds;
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    for (std::uint32_t slot = 0; slot < provision_.slots(); ++slot) {
      FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, base::Duplicate(pool_->fd(slot)));
      fds.push_back(std::move(fd));
    }
    // Room for a batch of each slot and a closing entry.
    if (audience_.Untaken() + provision_.slots() + 1 > proto::kReadyCapacity) {
      return absl::FailedPreconditionError(
          "a member takes nothing of what is published");
    }
    running_ = true;
    line_.Start(epoch, first_sample, list);
    itinerary_->Start(epoch, first_sample, Now(), list);
    pace_.StartEpoch();
    intake_.StartEpoch();
    audience_.StartEpoch(first_sample);
    requests = PlanLocked();
    PublishCompleteLocked();  // an epoch without samples ends at once
  }
  Send(std::move(requests));
  return fds;
}

void Stream::Stop() {
  base::MutexLock lock(&mutex_);
  running_ = false;
  itinerary_->Pause();
  if (pool_.has_value()) line_.Abandon(*pool_);
  PlanLocked();  // nothing any more
}

void Stream::Rest() {
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    intake_.Rest();
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

bool Stream::Reclaim() {
  // Unmapping takes milliseconds: it happens after the mutex is free.
  std::optional<arena::SlotPool> reclaimed;
  base::MutexLock lock(&mutex_);
  if (!pool_.has_value()) return true;
  if (running_ || pool_->Counts().free != pool_->slots()) return false;
  reclaimed = std::exchange(pool_, std::nullopt);
  itinerary_->Pause();
  return true;
}

absl::Status Stream::TakeReleases(arena::Holder member) {
  absl::Status status;
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    Member* m = audience_.Find(member);
    if (m == nullptr) return absl::OkStatus();
    status = m->TakeReleases(PoolLocked());
    requests = PlanLocked();
  }
  Send(std::move(requests));
  return status;
}

// --- From credits to reads.

Stream::Requests Stream::PlanLocked() {
  Requests requests;
  PlanReadsLocked(&requests);
  const auto busy = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_ && (intake_.reads_in_flight() > 0 || !backlog_.empty());
  };
  while (audience_.SetLooking(busy()) && !busy()) {
    // What was released before the members knew.
    audience_.TakeReleases(PoolLocked());
    PlanReadsLocked(&requests);
  }
  if (alive_ == nullptr && !requests.empty()) alive_ = shared_from_this();
  return requests;
}

void Stream::PlanReadsLocked(Requests* requests) {
  if (!running_) return;
  const std::size_t ready = audience_.Ready();
  intake_.Begin(ready, line_, *pool_);
  if (!intake_.HasRoom()) return;
  requests->reserve(line_.waiting());
  pace_.SetReady(ready * recipe_.batch.batch_size());
  const std::int64_t now = Now();
  intake_.Ask(now);
  while (auto read = intake_.Next(line_, pace_)) {
    // As small as it is, the function needs no memory of its own.
    read->request.done =
        [this, place = read->place](absl::StatusOr<base::Bytes> bytes) {
          OnRead(place, std::move(bytes));
        };
    requests->push_back(std::move(read->request));
  }
  itinerary_->Advance(line_.samples_handed_out(), pace_.TimeOf(1), now);
}

void Stream::Send(Requests requests) {
  if (!requests.empty()) machinery_.source->Read(absl::MakeSpan(requests));
}

// --- From bytes to pixels.

void Stream::OnRead(Place* place, absl::StatusOr<base::Bytes> bytes) {
  const absl::Status status = bytes.status();
  std::shared_ptr<Stream> self;  // let go of when all is done
  std::optional<executor::Demand> task;
  {
    base::MutexLock lock(&mutex_);
    self = alive_;
    intake_.Arrived(*place);
    if (intake_.reads_in_flight() == 0) alive_ = nullptr;
    ++samples_to_decode_;
    if (status.ok()) {
      counters_.bytes_read += place->length;
      backlog_.Add({.place = place, .bytes = *std::move(bytes), .status = {}});
      task = NextTaskLocked();
    }
  }
  if (status.ok()) {
    Submit(task);
    return;
  }
  const ReadSample failed{
      .place = place, .bytes = {}, .status = maker_.Blame(*place, status)};
  Finish({&failed, 1}, {});
}

std::optional<executor::Demand> Stream::NextTaskLocked() {
  const std::uint32_t samples = pace_.task_samples();
  if (!backlog_.WantsTask(samples)) return std::nullopt;
  return executor::Demand{pace_.cpu_nanos() * samples, pace_.Urgency(0)};
}

void Stream::Submit(std::optional<executor::Demand> task) {
  if (!task.has_value()) return;
  machinery_.executor->Submit(
      flow_, *task,
      [self = shared_from_this()](int worker) { self->RunTask(worker); });
}

void Stream::RunTask(int worker) {
  std::vector<ReadSample> samples;
  std::optional<executor::Demand> task;
  {
    base::MutexLock lock(&mutex_);
    samples = backlog_.Take(pace_.task_samples());
    task = NextTaskLocked();
  }
  Submit(task);
  Made made;
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : samples) {
    if (sample.place->batch->abandoned.load(std::memory_order_relaxed))
      continue;
    sample.status = maker_.Make(*sample.place, sample.bytes.span(),
                                *(*machinery_.workspaces)[worker]);
    ++made.samples;
    if (sample.place->form == storage::kEncoded) ++made.decoded;
  }
  made.cpu_nanos = base::Clock::ThreadCpu()->NowNanos() - started;
  // Before their part of the read window is given away.
  for (ReadSample& sample : samples) sample.bytes = {};
  Finish(samples, made);
}

void Stream::Finish(absl::Span<const ReadSample> samples, const Made& made) {
  for (const ReadSample& sample : samples) {
    if (absl::IsFailedPrecondition(sample.status) ||
        absl::IsNotFound(sample.status)) {
      machinery_.on_changed(*recipe_.dataset);
    }
  }
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    for (const ReadSample& sample : samples) {
      --samples_to_decode_;
      intake_.Leave(*sample.place);
      if (!sample.status.ok() &&
          line_.Substitute(*sample.place, sample.status)) {
        ++counters_.samples_substituted;
      } else {
        line_.Finish(*sample.place, sample.status, *pool_);
      }
    }
    if (made.samples > 0) {
      counters_.samples_decoded += made.decoded;
      counters_.cpu_nanos += made.cpu_nanos;
      pace_.SampleCost(made.cpu_nanos / made.samples);
    }
    audience_.TakeReleases(PoolLocked());
    PublishCompleteLocked();
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

// --- From pixels to members.

void Stream::PublishCompleteLocked() {
  while (running_) {
    if (line_.Exhausted()) {
      CloseEpochLocked(absl::OkStatus());
      return;
    }
    const std::unique_ptr<Batch> batch = line_.TakeComplete();
    if (batch == nullptr) return;
    if (batch->status.ok()) {
      PublishLocked(*batch);
    } else {
      pool_->Abandon(batch->slot);
      CloseEpochLocked(batch->status);
    }
  }
}

void Stream::PublishLocked(const Batch& batch) {
  const std::size_t ready = audience_.Ready();
  if (!audience_.Publish(batch, layout_, *pool_)) return;
  last_slot_ = batch.slot;
  const std::int64_t now = Now();
  pace_.Published(batch.places.size(), now);
  intake_.Published(batch, ready, line_.HasMore(), now);
}

void Stream::CloseEpochLocked(const absl::Status& status) {
  running_ = false;
  line_.Abandon(*pool_);
  if (!status.ok()) itinerary_->Pause();
  audience_.Close(status, line_.epoch());
}

// --- Seen from outside.

StreamSnapshot Stream::Snapshot(arena::Holder member) {
  base::MutexLock lock(&mutex_);
  StreamSnapshot snapshot;
  snapshot.epoch = line_.epoch();
  snapshot.running = running_;
  snapshot.intake = intake_.Snapshot();
  snapshot.samples_to_decode = samples_to_decode_;
  if (pool_.has_value()) {
    snapshot.slots = provision_.slots();
    snapshot.slot_counts = pool_->Counts();
  }
  snapshot.made = counters_;
  if (Member* m = audience_.Find(member)) snapshot.taken = m->Account();
  return snapshot;
}

absl::StatusOr<SlotCopy> Stream::Peek() {
  SlotCopy copy;
  FOREBAY_ASSIGN_OR_RETURN(copy.reservation,
                           machinery_.budget->Reserve(slot_bytes(), "a peek"));
  const std::uint8_t* data;
  std::uint32_t slot;
  std::uint32_t generation;
  {
    base::MutexLock lock(&mutex_);
    if (!pool_.has_value() || !pool_->AddLease(last_slot_, kPeeker)) {
      return absl::UnavailableError("no batch to see just now: try again");
    }
    slot = last_slot_;
    data = pool_->data(slot);
    generation = pool_->generation(slot);
  }
  copy.bytes.assign(data, data + slot_bytes());
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    pool_->Release(slot, generation, kPeeker);
    requests = PlanLocked();
  }
  Send(std::move(requests));
  return copy;
}

}  // namespace forebay::stream
