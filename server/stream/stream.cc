// How a stream works. `batches_` holds the batches in the making, in the order
// of the epoch. A free slot begins a new one at its back (BeginBatches); its
// places are asked for in order while the read window has room (Plan), whoever
// finishes a read or a sample asking for more. A place whose bytes have come is
// decoded by a worker, straight into the slot. When the front batch has no
// place left, it is published; batches behind it wait for their turn.
//
// A stopped epoch's batches are abandoned: places not yet asked for are dropped
// at once, those under way finish without work, and the last one frees the
// slot.
#include "server/stream/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/duplicate.h"
#include "server/base/philox.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kDefaultDepth = 2;
// Encoded bytes that a stream may have in flight: enough to keep many workers
// busy with large photographs, little beside its slots. One sample always fits.
constexpr std::uint64_t kReadWindow = std::uint64_t{16} << 20;
constexpr std::uint32_t kMaxSubstitutions = 16;
// Holder of the lease under which Peek copies; members count from 1.
constexpr arena::Holder kPeeker = 0;
constexpr std::int64_t kFirstCostGuessNanos = 500'000;

// The sample that stands in for a corrupt one: drawn from a stream of its own,
// which no op uses.
std::uint64_t SubstituteFor(std::uint64_t seed, std::uint64_t epoch,
                            std::uint64_t sample, std::uint64_t dataset_size) {
  constexpr std::uint16_t kSubstitution = 0xFFFF;
  return base::PhiloxStream(seed, epoch, sample, kSubstitution)
      .UniformInt(dataset_size);
}

std::int64_t RunningMean(std::int64_t mean, std::int64_t value) {
  return mean + (value - mean) / 16;
}

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
      read_window_(std::max(kReadWindow, recipe_.dataset->largest_sample())),
      sample_cpu_nanos_(kFirstCostGuessNanos) {}

std::uint64_t Stream::samples_per_epoch() const {
  return recipe_.sampler.samples_per_epoch();
}

std::uint64_t Stream::batches_per_epoch() const {
  const std::uint64_t batch_size = recipe_.batch.batch_size();
  const std::uint64_t samples = samples_per_epoch();
  return recipe_.batch.drop_last() ? samples / batch_size
                                   : (samples + batch_size - 1) / batch_size;
}

arena::Holder Stream::Join(arena::Channel* channel) {
  base::MutexLock lock(&mutex_);
  members_.emplace_back(++last_holder_, channel);
  return last_holder_;
}

void Stream::Leave(arena::Holder member) {
  base::MutexLock lock(&mutex_);
  if (Member* m = FindLocked(member)) m->Leave();
}

void Stream::Forfeit(arena::Holder member) {
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    std::erase_if(members_,
                  [&](const Member& m) { return m.holder() == member; });
    if (pool_.has_value()) pool_->ReleaseAll(member);
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

Member* Stream::FindLocked(arena::Holder holder) {
  const auto member =
      std::find_if(members_.begin(), members_.end(),
                   [&](const Member& m) { return m.holder() == holder; });
  return member == members_.end() ? nullptr : &*member;
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
    FOREBAY_ASSIGN_OR_RETURN(
        window, machinery_.budget->Reserve(read_window_, "reads in flight"));
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
    epoch_ = epoch;
    next_sample_ = first_sample;
    published_at_nanos_ = 0;
    for (Member& member : members_) member.StartEpoch(first_sample);
    requests = PlanLocked();
    PublishCompleteLocked();  // an epoch without samples ends at once
  }
  Send(std::move(requests));
  return absl::OkStatus();
}

void Stream::Stop() {
  base::MutexLock lock(&mutex_);
  running_ = false;
  AbandonBatchesLocked();
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
    Member* m = FindLocked(member);
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

void Stream::BeginBatchesLocked() {
  const std::uint64_t samples = samples_per_epoch();
  const std::uint64_t batch_size = recipe_.batch.batch_size();
  while (running_ && next_sample_ < samples) {
    const std::uint64_t count = std::min(batch_size, samples - next_sample_);
    if (count < batch_size && recipe_.batch.drop_last()) return;
    const auto slot = pool_->Take();
    if (!slot.has_value()) return;
    auto batch = std::make_shared<Batch>();
    batch->slot = *slot;
    batch->data = pool_->data(*slot);
    batch->epoch = epoch_;
    batch->first_sample = next_sample_;
    batch->remaining = static_cast<std::uint32_t>(count);
    batch->places.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      batch->places[i].sample =
          recipe_.sampler.SampleAt(epoch_, next_sample_ + i);
    }
    next_sample_ += count;
    batches_.push_back(std::move(batch));
  }
}

std::optional<Stream::Lookup> Stream::NextLookupLocked() {
  if (!retries_.empty()) {
    Lookup lookup = std::move(retries_.front());
    retries_.pop_front();
    return lookup;
  }
  for (const std::shared_ptr<Batch>& batch : batches_) {
    if (batch->next_place < batch->places.size())
      return Lookup{batch, batch->next_place++};
  }
  return std::nullopt;
}

Stream::Requests Stream::PlanLocked() {
  Requests requests;
  if (!pool_.has_value()) return requests;
  BeginBatchesLocked();
  // Asking in bulk keeps wake-ups rare: top the window up only when a part of
  // it is free.
  if (bytes_in_flight_ > read_window_ - read_window_ / 4) return requests;
  while (auto lookup = NextLookupLocked()) {
    dataset::Sample sample =
        recipe_.dataset->At(lookup->batch->places[lookup->place].sample);
    if (bytes_in_flight_ > 0 &&
        bytes_in_flight_ + sample.length > read_window_) {
      retries_.push_front(*std::move(lookup));
      break;
    }
    bytes_in_flight_ += sample.length;
    ++reads_in_flight_;
    requests.push_back(RequestLocked(*lookup, std::move(sample)));
  }
  return requests;
}

storage::ReadRequest Stream::RequestLocked(const Lookup& lookup,
                                           dataset::Sample sample) {
  const std::uint64_t id = lookup.batch->places[lookup.place].sample;
  storage::ReadRequest request;
  request.root = recipe_.dataset->root();
  request.object = sample.object;
  request.version = sample.version;
  request.offset = sample.offset;
  request.length = sample.length;
  request.purpose.job = flow_;
  request.purpose.urgency =
      (lookup.batch->first_sample - batches_.front()->first_sample) /
      recipe_.batch.batch_size();
  request.purpose.next_use_nanos = NextUseNanosLocked(lookup.batch->epoch, id);
  request.done = [self = shared_from_this(), lookup,
                  sample =
                      std::move(sample)](absl::StatusOr<base::Bytes> bytes) {
    self->OnRead(lookup, sample, std::move(bytes));
  };
  return request;
}

std::int64_t Stream::NextUseNanosLocked(std::uint64_t epoch,
                                        std::uint64_t sample) const {
  const auto next = recipe_.sampler.PositionOf(epoch + 1, sample);
  if (!next.has_value() || sample_period_nanos_ == 0) return INT64_MAX;
  const std::uint64_t distance = samples_per_epoch() - next_sample_ + *next;
  return static_cast<std::int64_t>(distance) * sample_period_nanos_;
}

void Stream::Send(Requests requests) {
  if (!requests.empty()) machinery_.source->Read(absl::MakeSpan(requests));
}

// --- From bytes to pixels.

void Stream::OnRead(const Lookup& lookup, const dataset::Sample& sample,
                    absl::StatusOr<base::Bytes> bytes) {
  if (!bytes.ok()) {
    Finish(lookup, sample, bytes.status(), {});
    return;
  }
  std::int64_t cost;
  {
    base::MutexLock lock(&mutex_);
    --reads_in_flight_;
    ++samples_to_decode_;
    counters_.bytes_read += bytes->size();
    cost = sample_cpu_nanos_;
  }
  machinery_.executor->Submit(
      flow_, cost,
      [self = shared_from_this(), lookup, sample, bytes = *std::move(bytes)](
          int worker) { self->Process(lookup, sample, bytes, worker); });
}

void Stream::Process(const Lookup& lookup, const dataset::Sample& sample,
                     const base::Bytes& bytes, int worker) {
  Batch& batch = *lookup.batch;
  const std::uint64_t id = batch.places[lookup.place].sample;
  Decoded decoded{.ran = true, .cpu_nanos = 0};
  absl::Status status;
  if (!batch.abandoned.load(std::memory_order_relaxed)) {
    const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
    const pipeline::SampleKey key{
        .seed = recipe_.seed, .epoch = batch.epoch, .sample = id};
    status =
        base::Annotate(recipe_.pipeline->Run(
                           bytes.span(), key, *(*machinery_.workspaces)[worker],
                           layout_.Image(batch.data, lookup.place)),
                       sample.object);
    layout_.SetLabel(batch.data, lookup.place, sample.label);
    layout_.SetSampleId(batch.data, lookup.place,
                        static_cast<std::int64_t>(id));
    decoded.cpu_nanos = base::Clock::ThreadCpu()->NowNanos() - started;
  }
  Finish(lookup, sample, status, decoded);
}

void Stream::Finish(const Lookup& lookup, const dataset::Sample& sample,
                    const absl::Status& status, const Decoded& decoded) {
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) {
    machinery_.on_changed(*recipe_.dataset);
  }
  Requests requests;
  {
    base::MutexLock lock(&mutex_);
    Batch& batch = *lookup.batch;
    bytes_in_flight_ -= sample.length;
    if (decoded.ran) {
      --samples_to_decode_;
    } else {
      --reads_in_flight_;
    }
    if (decoded.cpu_nanos > 0) {
      ++counters_.samples_decoded;
      counters_.cpu_nanos += decoded.cpu_nanos;
      sample_cpu_nanos_ = RunningMean(sample_cpu_nanos_, decoded.cpu_nanos);
    }
    if (status.ok() || !SubstituteLocked(lookup, status)) {
      if (!status.ok() &&
          (batch.error.ok() || lookup.place < batch.error_place)) {
        const std::uint64_t id = batch.places[lookup.place].sample;
        batch.error = base::Annotate(
            status, absl::StrCat("sample ", id, " of ",
                                 recipe_.dataset->root()->uri()));
        batch.error_place = lookup.place;
      }
      if (--batch.remaining == 0 && batch.abandoned) pool_->Abandon(batch.slot);
    }
    PublishCompleteLocked();
    requests = PlanLocked();
  }
  Send(std::move(requests));
}

bool Stream::SubstituteLocked(const Lookup& lookup,
                              const absl::Status& status) {
  if (recipe_.batch.on_error() != proto::BatchSpec::SUBSTITUTE ||
      lookup.batch->abandoned) {
    return false;
  }
  // Only what will be as bad next time: never a passing fault, and never a file
  // that changed.
  if (!absl::IsDataLoss(status) && !absl::IsInvalidArgument(status))
    return false;
  Batch::Place& place = lookup.batch->places[lookup.place];
  if (place.substitutions == kMaxSubstitutions) return false;
  ++place.substitutions;
  ++counters_.samples_substituted;
  place.sample = SubstituteFor(recipe_.seed, lookup.batch->epoch, place.sample,
                               recipe_.dataset->size());
  retries_.push_back(lookup);
  return true;
}

// --- From pixels to members.

void Stream::PublishCompleteLocked() {
  while (running_ && !batches_.empty() && batches_.front()->remaining == 0) {
    const std::shared_ptr<Batch> batch = batches_.front();
    if (!batch->error.ok()) {
      CloseEpochLocked(batch->error);
      return;
    }
    batches_.pop_front();
    PublishLocked(*batch);
  }
  const std::uint64_t left = samples_per_epoch() - next_sample_;
  const bool planned = left == 0 || (recipe_.batch.drop_last() &&
                                     left < recipe_.batch.batch_size());
  if (running_ && batches_.empty() && planned)
    CloseEpochLocked(absl::OkStatus());
}

void Stream::PublishLocked(const Batch& batch) {
  const std::uint64_t count = batch.places.size();
  const std::uint32_t generation = pool_->generation(batch.slot);
  layout_.WriteHeader(batch.data, {.generation = generation,
                                   .sample_count = count,
                                   .epoch = batch.epoch,
                                   .first_sample = batch.first_sample});
  std::vector<arena::Holder> holders;
  for (const Member& member : members_) {
    if (member.channel() != nullptr) holders.push_back(member.holder());
  }
  if (holders.empty()) {
    pool_->Abandon(batch.slot);
    return;
  }
  pool_->Publish(batch.slot, holders);
  last_slot_ = batch.slot;
  const std::int64_t now = machinery_.clock->NowNanos();
  if (published_at_nanos_ != 0) {
    const std::int64_t period =
        (now - published_at_nanos_) / static_cast<std::int64_t>(count);
    sample_period_nanos_ = sample_period_nanos_ == 0
                               ? period
                               : RunningMean(sample_period_nanos_, period);
  }
  published_at_nanos_ = now;
  for (Member& member : members_) {
    if (member.channel() == nullptr) continue;
    member.Publish({.kind = proto::ReadyKind::kBatch,
                    .slot = batch.slot,
                    .generation = generation,
                    .reserved = 0,
                    .sample_count = count,
                    .epoch = batch.epoch},
                   layout_.DataBytes(count));
  }
}

void Stream::CloseEpochLocked(const absl::Status& status) {
  running_ = false;
  AbandonBatchesLocked();
  for (Member& member : members_) {
    if (member.channel() == nullptr) continue;
    if (status.ok()) {
      member.Publish({.kind = proto::ReadyKind::kEndOfEpoch,
                      .slot = 0,
                      .generation = 0,
                      .reserved = 0,
                      .sample_count = 0,
                      .epoch = epoch_},
                     0);
    } else {
      member.PublishError(status, epoch_);
    }
  }
}

void Stream::AbandonBatchesLocked() {
  for (const Lookup& lookup : retries_) --lookup.batch->remaining;
  retries_.clear();
  for (const std::shared_ptr<Batch>& batch : batches_) {
    batch->abandoned = true;
    batch->remaining -=
        static_cast<std::uint32_t>(batch->places.size()) - batch->next_place;
    batch->next_place = static_cast<std::uint32_t>(batch->places.size());
    if (batch->remaining == 0) pool_->Abandon(batch->slot);
  }
  batches_.clear();
}

// --- Seen from outside.

StreamState Stream::State() const {
  base::MutexLock lock(&mutex_);
  StreamState state{.epoch = epoch_,
                    .running = running_,
                    .slots = 0,
                    .slot_counts = {},
                    .reads_in_flight = reads_in_flight_,
                    .samples_to_decode = samples_to_decode_,
                    .bytes_in_flight = bytes_in_flight_};
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
  Member* m = FindLocked(member);
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
