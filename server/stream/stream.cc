// How a stream works. A free slot begins a batch on the production line. Its
// places are read in order while the read window has room (PlanLocked), whoever
// finishes a read or a sample asking for more. A place whose bytes have come is
// decoded by a worker, straight into the slot. When the front batch has no
// place left it is published; batches behind it wait for their turn.
#include "server/stream/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
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
  const BatchLayout layout(recipe.pipeline->output(),
                           recipe.batch.batch_size());
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
      provision_(std::move(provision)),
      line_(recipe_.sampler, recipe_.batch, recipe_.seed,
            recipe_.dataset->size()) {}

std::uint64_t Stream::samples_per_epoch() const {
  return recipe_.sampler.samples_per_epoch();
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
    std::uint64_t epoch, std::uint64_t first_sample) {
  if (first_sample > samples_per_epoch()) {
    return absl::OutOfRangeError(absl::StrCat("sample ", first_sample,
                                              " of an epoch that has ",
                                              samples_per_epoch()));
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
    line_.Start(epoch, first_sample);
    pace_.StartEpoch();
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
  if (pool_.has_value()) line_.Abandon(*pool_);
}

bool Stream::Reclaim() {
  // Unmapping takes milliseconds: it happens after the mutex is free.
  std::optional<arena::SlotPool> reclaimed;
  base::MutexLock lock(&mutex_);
  if (!pool_.has_value()) return true;
  if (running_ || pool_->Counts().free != pool_->slots()) return false;
  reclaimed = std::exchange(pool_, std::nullopt);
  return true;
}

absl::Status Stream::TakeReleases(arena::Holder member) {
  absl::Status status;
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    Member* m = audience_.Find(member);
    if (m == nullptr) return absl::OkStatus();
    m->Account();
    while (const auto release = m->channel()->TakeRelease()) {
      if (!pool_.has_value() ||
          !pool_->Release(release->slot, release->generation, member)) {
        status = absl::InvalidArgumentError(
            absl::StrCat("a release of slot ", release->slot,
                         " that the client does not hold"));
        break;
      }
    }
    if (m->channel()->corrupt()) {
      status = absl::InvalidArgumentError("a release ring that holds garbage");
    }
    requests = PlanLocked();
  }
  Send(std::move(requests));
  return status;
}

// --- From credits to reads.

Stream::Requests Stream::PlanLocked() {
  Requests requests;
  if (!running_) return requests;
  line_.Begin(*pool_);
  // Asking in bulk keeps wake-ups rare: top the window up only when a part of
  // it is free.
  const std::uint64_t window = provision_.read_window();
  if (bytes_in_flight_ > window - window / 4) return requests;
  while (auto place = line_.Next()) {
    Batch::Sample& sample = place->sample();
    dataset::Sample source = recipe_.dataset->At(sample.id);
    sample.held = storage::HeldBytes(source.length);
    sample.label = source.label;
    if (bytes_in_flight_ > 0 && bytes_in_flight_ + sample.held > window) {
      line_.PutBack(*std::move(place));
      break;
    }
    bytes_in_flight_ += sample.held;
    ++reads_in_flight_;
    requests.push_back(RequestLocked(*place, std::move(source)));
  }
  return requests;
}

storage::ReadRequest Stream::RequestLocked(const Place& place,
                                           dataset::Sample source) {
  storage::ReadRequest request;
  request.root = recipe_.dataset->root();
  request.object = std::move(source.object);
  request.version = source.version;
  request.offset = source.offset;
  request.length = source.length;
  request.purpose.job = flow_;
  request.purpose.urgency = line_.Ahead(*place.batch);
  if (const auto samples = line_.SamplesUntilReuse(place.sample().id)) {
    request.purpose.next_use_nanos = pace_.TimeOf(*samples);
  }
  request.done = [self = shared_from_this(),
                  place](absl::StatusOr<base::Bytes> bytes) {
    self->OnRead(place, std::move(bytes));
  };
  return request;
}

void Stream::Send(Requests requests) {
  if (!requests.empty()) machinery_.source->Read(absl::MakeSpan(requests));
}

// --- From bytes to pixels.

void Stream::OnRead(const Place& place, absl::StatusOr<base::Bytes> bytes) {
  if (!bytes.ok()) {
    Finish(place, Blame(place.sample().id, bytes.status(), false), {});
    return;
  }
  std::int64_t cost;
  {
    base::MutexLock lock(&mutex_);
    --reads_in_flight_;
    ++samples_to_decode_;
    counters_.bytes_read += bytes->size();
    cost = pace_.cpu_nanos();
  }
  machinery_.executor->Submit(
      flow_, cost,
      [self = shared_from_this(), place, bytes = *std::move(bytes)](
          int worker) { self->Process(place, bytes, worker); });
}

void Stream::Process(const Place& place, const base::Bytes& bytes, int worker) {
  const Batch& batch = *place.batch;
  if (batch.abandoned.load(std::memory_order_relaxed)) {
    Finish(place, absl::OkStatus(), {.ran = true, .cpu_nanos = 0});
    return;
  }
  const Batch::Sample& sample = place.sample();
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  const absl::Status status = recipe_.pipeline->Run(
      bytes.span(),
      {.seed = recipe_.seed, .epoch = batch.epoch, .sample = sample.id},
      *(*machinery_.workspaces)[worker],
      layout_.Image(batch.data, place.index));
  layout_.SetLabel(batch.data, place.index, sample.label);
  layout_.SetSampleId(batch.data, place.index,
                      static_cast<std::int64_t>(sample.id));
  const std::int64_t spent = base::Clock::ThreadCpu()->NowNanos() - started;
  Finish(place, status.ok() ? status : Blame(sample.id, status, true),
         {.ran = true, .cpu_nanos = spent});
}

absl::Status Stream::Blame(std::uint64_t id, const absl::Status& status,
                           bool names_no_object) const {
  const dataset::Dataset& dataset = *recipe_.dataset;
  return base::Annotate(
      names_no_object ? base::Annotate(status, dataset.At(id).object) : status,
      absl::StrCat("sample ", id, " of ", dataset.root()->uri()));
}

void Stream::Finish(const Place& place, const absl::Status& status,
                    const Decoded& decoded) {
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) {
    machinery_.on_changed(*recipe_.dataset);
  }
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    AccountLocked(place, decoded);
    if (!status.ok() && line_.Substitute(place, status)) {
      ++counters_.samples_substituted;
    } else {
      line_.Finish(place, status, *pool_);
    }
    PublishCompleteLocked();
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

void Stream::AccountLocked(const Place& place, const Decoded& decoded) {
  bytes_in_flight_ -= place.sample().held;
  if (!decoded.ran) {
    --reads_in_flight_;
    return;
  }
  --samples_to_decode_;
  if (decoded.cpu_nanos == 0) return;
  ++counters_.samples_decoded;
  counters_.cpu_nanos += decoded.cpu_nanos;
  pace_.SampleCost(decoded.cpu_nanos);
}

// --- From pixels to members.

void Stream::PublishCompleteLocked() {
  while (running_) {
    if (line_.Exhausted()) {
      CloseEpochLocked(absl::OkStatus());
      return;
    }
    const std::shared_ptr<Batch> batch = line_.TakeComplete();
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
  const std::uint64_t count = batch.samples.size();
  const std::vector<arena::Holder> holders = audience_.Holders();
  if (holders.empty()) {
    pool_->Abandon(batch.slot);
    return;
  }
  const std::uint32_t generation = pool_->generation(batch.slot);
  layout_.WriteHeader(batch.data, {.generation = generation,
                                   .sample_count = count,
                                   .epoch = batch.epoch,
                                   .first_sample = batch.first_sample});
  pool_->Publish(batch.slot, holders);
  last_slot_ = batch.slot;
  pace_.Published(count, machinery_.clock->NowNanos());
  audience_.Publish({.kind = proto::ReadyKind::kBatch,
                     .slot = batch.slot,
                     .generation = generation,
                     .reserved = 0,
                     .sample_count = count,
                     .epoch = batch.epoch},
                    layout_.DataBytes(count));
}

void Stream::CloseEpochLocked(const absl::Status& status) {
  running_ = false;
  line_.Abandon(*pool_);
  audience_.Close(status, line_.epoch());
}

// --- Seen from outside.

StreamSnapshot Stream::Snapshot(arena::Holder member) {
  base::MutexLock lock(&mutex_);
  StreamSnapshot snapshot;
  snapshot.epoch = line_.epoch();
  snapshot.running = running_;
  snapshot.reads_in_flight = reads_in_flight_;
  snapshot.samples_to_decode = samples_to_decode_;
  snapshot.bytes_in_flight = bytes_in_flight_;
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
