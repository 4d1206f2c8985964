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

constexpr std::uint32_t kDefaultDepth = 2;
// Encoded bytes that a stream may hold: enough to keep many workers
// busy with large photographs, little beside its slots. One sample always fits.
constexpr std::uint64_t kReadWindow = std::uint64_t{16} << 20;
// Holder of the lease under which Peek copies; members count from 1.
constexpr arena::Holder kPeeker = 0;

}  // namespace

std::shared_ptr<Stream> Stream::Create(Recipe recipe, Machinery machinery,
                                       schedule::Flow flow) {
  return std::shared_ptr<Stream>(
      new Stream(std::move(recipe), machinery, flow));
}

Stream::Stream(Recipe recipe, Machinery machinery, schedule::Flow flow)
    : recipe_(std::move(recipe)),
      machinery_(machinery),
      flow_(flow),
      layout_(recipe_.pipeline->output(), recipe_.batch.batch_size()),
      read_window_(std::max(
          kReadWindow, storage::HeldBytes(recipe_.dataset->largest_sample()))),
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

void Stream::Leave(arena::Holder member) {
  base::MutexLock lock(&mutex_);
  audience_.Leave(member);
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

absl::StatusOr<base::MemoryReservation> Stream::ReserveWindow() const {
  auto window = machinery_.budget->Reserve(read_window_, "reads in flight");
  if (window.ok() || read_window_ == kReadWindow) return window;
  // One sample asks for that much: who looks for it should not have to guess.
  const dataset::Dataset& dataset = *recipe_.dataset;
  std::uint64_t id = 0;
  while (dataset.At(id).length != dataset.largest_sample()) ++id;
  return base::Annotate(
      window.status(),
      absl::StrCat("sample ", id, " of ", dataset.root()->uri(), ": ",
                   dataset.At(id).object));
}

absl::Status Stream::Start(std::uint64_t epoch, std::uint64_t first_sample) {
  if (first_sample > samples_per_epoch()) {
    return absl::OutOfRangeError(absl::StrCat("sample ", first_sample,
                                              " of an epoch that has ",
                                              samples_per_epoch()));
  }
  bool has_slots;
  {
    base::MutexLock lock(&mutex_);
    if (running_) return absl::FailedPreconditionError("an epoch is under way");
    has_slots = pool_.has_value();
  }
  std::optional<arena::SlotPool> pool;
  base::MemoryReservation window;
  if (!has_slots) {
    const std::uint32_t depth =
        recipe_.batch.depth() == 0 ? kDefaultDepth : recipe_.batch.depth();
    FOREBAY_ASSIGN_OR_RETURN(window, ReserveWindow());
    FOREBAY_ASSIGN_OR_RETURN(
        pool, arena::SlotPool::Create(machinery_.budget, depth + kLeaseQuota,
                                      slot_bytes()));
  }
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    if (!has_slots) {
      pool_ = std::move(pool);
      window_reservation_ = std::move(window);
    }
    running_ = true;
    line_.Start(epoch, first_sample);
    pace_.StartEpoch();
    audience_.StartEpoch(first_sample);
    requests = PlanLocked();
    PublishCompleteLocked();  // an epoch without samples ends at once
  }
  Send(std::move(requests));
  return absl::OkStatus();
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
  window_reservation_.Release();
  return true;
}

absl::StatusOr<std::vector<base::Fd>> Stream::SlotFds() const {
  base::MutexLock lock(&mutex_);
  std::vector<base::Fd> fds;
  for (std::uint32_t i = 0; pool_.has_value() && i < pool_->slots(); ++i) {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, base::Duplicate(pool_->fd(i)));
    fds.push_back(std::move(fd));
  }
  return fds;
}

absl::Status Stream::TakeReleases(arena::Holder member) {
  absl::Status status;
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    Member* m = audience_.Find(member);
    if (m == nullptr || m->channel() == nullptr) return absl::OkStatus();
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
  if (bytes_in_flight_ > read_window_ - read_window_ / 4) return requests;
  while (auto place = line_.Next()) {
    dataset::Sample sample = recipe_.dataset->At(place->sample());
    const std::uint64_t held = storage::HeldBytes(sample.length);
    if (bytes_in_flight_ > 0 && bytes_in_flight_ + held > read_window_) {
      line_.PutBack(*std::move(place));
      break;
    }
    bytes_in_flight_ += held;
    ++reads_in_flight_;
    requests.push_back(RequestLocked(*place, std::move(sample)));
  }
  return requests;
}

storage::ReadRequest Stream::RequestLocked(const Place& place,
                                           dataset::Sample sample) {
  storage::ReadRequest request;
  request.root = recipe_.dataset->root();
  request.object = sample.object;
  request.version = sample.version;
  request.offset = sample.offset;
  request.length = sample.length;
  request.purpose.job = flow_;
  request.purpose.urgency = line_.Ahead(*place.batch);
  if (const auto samples = line_.SamplesUntilReuse(place.sample())) {
    request.purpose.next_use_nanos = pace_.TimeOf(*samples);
  }
  request.done = [self = shared_from_this(), place, sample = std::move(sample)](
                     absl::StatusOr<base::Bytes> bytes) {
    self->OnRead(place, sample, std::move(bytes));
  };
  return request;
}

void Stream::Send(Requests requests) {
  if (!requests.empty()) machinery_.source->Read(absl::MakeSpan(requests));
}

// --- From bytes to pixels.

void Stream::OnRead(const Place& place, const dataset::Sample& sample,
                    absl::StatusOr<base::Bytes> bytes) {
  if (!bytes.ok()) {
    Finish(place, sample, bytes.status(), {});
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
      [self = shared_from_this(), place, sample, bytes = *std::move(bytes)](
          int worker) { self->Process(place, sample, bytes, worker); });
}

void Stream::Process(const Place& place, const dataset::Sample& sample,
                     const base::Bytes& bytes, int worker) {
  const Batch& batch = *place.batch;
  Decoded decoded{.ran = true, .cpu_nanos = 0};
  absl::Status status;
  if (!batch.abandoned.load(std::memory_order_relaxed)) {
    const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
    const pipeline::SampleKey key{
        .seed = recipe_.seed, .epoch = batch.epoch, .sample = place.sample()};
    status =
        base::Annotate(recipe_.pipeline->Run(
                           bytes.span(), key, *(*machinery_.workspaces)[worker],
                           layout_.Image(batch.data, place.index)),
                       sample.object);
    layout_.SetLabel(batch.data, place.index, sample.label);
    layout_.SetSampleId(batch.data, place.index,
                        static_cast<std::int64_t>(place.sample()));
    decoded.cpu_nanos = base::Clock::ThreadCpu()->NowNanos() - started;
  }
  Finish(place, sample, status, decoded);
}

void Stream::Finish(const Place& place, const dataset::Sample& sample,
                    const absl::Status& status, const Decoded& decoded) {
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) {
    machinery_.on_changed(*recipe_.dataset);
  }
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    AccountLocked(sample, decoded);
    const std::uint64_t id = place.sample();
    if (!status.ok() && line_.Substitute(place, status)) {
      ++counters_.samples_substituted;
    } else {
      line_.Finish(
          place,
          base::Annotate(status, absl::StrCat("sample ", id, " of ",
                                              recipe_.dataset->root()->uri())),
          *pool_);
    }
    PublishCompleteLocked();
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

void Stream::AccountLocked(const dataset::Sample& sample,
                           const Decoded& decoded) {
  bytes_in_flight_ -= storage::HeldBytes(sample.length);
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

StreamState Stream::State() const {
  base::MutexLock lock(&mutex_);
  StreamState state;
  state.epoch = line_.epoch();
  state.running = running_;
  state.reads_in_flight = reads_in_flight_;
  state.samples_to_decode = samples_to_decode_;
  state.bytes_in_flight = bytes_in_flight_;
  if (pool_.has_value()) {
    state.slots = pool_->slots();
    state.slot_counts = pool_->Counts();
  }
  return state;
}

StreamCounters Stream::Counters() const {
  base::MutexLock lock(&mutex_);
  return counters_;
}

MemberCounters Stream::CountersOf(arena::Holder member) {
  base::MutexLock lock(&mutex_);
  Member* m = audience_.Find(member);
  return m == nullptr ? MemberCounters{} : m->Account();
}

absl::StatusOr<std::vector<std::uint8_t>> Stream::Peek() {
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
  std::vector<std::uint8_t> copy(data, data + slot_bytes());
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
