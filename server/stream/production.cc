// How a stream makes its batches. Publisher hands each member the completed
// batches of its epoch, in order. BatchScheduler begins the batches that are
// missing, each in a slot. ReadLocked reads their samples in order while the
// read window has room; each sample that finishes makes it look again. Places
// whose bytes have arrived wait in the queue until a worker's task decodes
// them, straight into the slot. A complete batch goes into the batch cache.
#include <algorithm>
#include <utility>

#include "server/base/clock.h"
#include "server/stream/stream.h"

namespace forebay::stream {

Stream::Plan Stream::PlanLocked() {
  Plan plan;
  AdvanceLocked(&plan);
  TellLookingLocked(&plan);
  return plan;
}

void Stream::AdvanceLocked(Plan* plan) {
  heard_ = members_.Heard();
  DeliverLocked();
  plan->grows |= scheduler_.Begin(Now());
  ChargeLocked(plan);
  ReadLocked(plan);
  if (alive_ == nullptr && !plan->requests.empty()) alive_ = shared_from_this();
}

void Stream::TellLookingLocked(Plan* plan) {
  while (members_.SetLooking(at_work_ > 0)) {
    // What was done before the members knew.
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
  if (plan.grows) {
    // A slot is anybody's: no cap holds it up, not even one that comes later.
    constexpr schedule::Flow kNobody = 0;
    constexpr executor::Demand kMaking = {.cpu_nanos = 20'000'000,
                                          .urgency = 0};
    deps_.executor->Submit(kNobody, kMaking, [self = shared_from_this()](int) {
      self->MakeSlot();
    });
  }
  if (!plan.requests.empty()) deps_.source->Read(absl::MakeSpan(plan.requests));
  for (Task& task : plan.tasks) Submit(std::move(task));
}

void Stream::MakeSlot() {
  auto memory = arena::SlotPool::MakeMemory(1, slot_bytes());
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    if (memory.ok()) {
      batch_cache_.Grown(*std::move(memory));
    } else {
      batch_cache_.NotGrown();
    }
    plan = PlanLocked();
  }
  Execute(std::move(plan));
}

// --- From completed batches to members.

void Stream::DeliverLocked() {
  const std::int64_t now = Now();
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
  if (before.empty()) return;  // nothing of it is asked for
  large_->Charge(&batch, charged);
  for (ReadSample& sample : QueueLocked(before).TakeOf(batch))
    QueueLocked(charged).Add(std::move(sample));
  DropIfEmptyLocked(before);
  while (auto task = NextTaskLocked(charged))
    plan->tasks.push_back(*std::move(task));
  DropIfEmptyLocked(charged);
  if (members_.AnyUncapped(before)) return;
  // A cap may hold up what is being read: whoever asks for it, too, joins those
  // who wait for it, and takes it for all.
  const auto payers = std::make_shared<const Flows>(charged);
  for (const PendingSample& pending : batch.samples) {
    if (!pending.reading) continue;
    auto again =
        prefetcher_.RequestAgain(pending, *members_.Find(batch.sponsor));
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
  const auto find = [this](arena::MemberId holder)
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          return members_.Find(holder);
                        };
  Payers payers;
  prefetcher_.Ask(now);
  while (auto read = prefetcher_.Next(in_flight_, find)) {
    const Flows& charged = read->pending->batch->charged;
    if (payers == nullptr || *payers != charged)
      payers = std::make_shared<const Flows>(charged);
    SetPayers(payers, &read->request);
    // As small as it is, the function needs no memory of its own.
    read->request.done =
        [this, pending = read->pending](absl::StatusOr<base::Bytes> bytes) {
          OnRead(pending, std::move(bytes));
        };
    plan->requests.push_back(std::move(read->request));
  }
  for (const auto& member : members_) {
    if (member->cursor().running()) member->Asked(AskedForLocked(*member), now);
  }
}

std::uint64_t Stream::AskedForLocked(const Member& member) const {
  // Far enough: what is kept beyond does not make way for bytes.
  constexpr int kMaxBatches = 64;
  const Cursor& cursor = member.cursor();
  BatchKey key = cursor.next();
  for (int i = 0; i < kMaxBatches && cursor.SamplesOf(key) > 0; ++i) {
    if (batch_cache_.Find(key) == nullptr) {
      const Batch* const batch = in_flight_.Find(key);
      if (batch == nullptr) break;
      if (batch->handed_out < batch->samples.size())
        return key.first_sample + batch->handed_out;
    }
    key = cursor.After(key);
  }
  return key.first_sample;
}

// --- From bytes to pixels.

void Stream::OnRead(PendingSample* pending, absl::StatusOr<base::Bytes> bytes) {
  const absl::Status status = bytes.status();
  std::shared_ptr<Stream> self;  // let go of when all is done
  std::optional<Task> task;
  {
    base::MutexLock lock(&mutex_);
    self = alive_;
    prefetcher_.Arrived(*pending);
    if (prefetcher_.reads_in_flight() == 0) alive_ = nullptr;
    ++samples_to_decode_;
    ++pending->batch->to_decode;
    if (status.ok()) {
      ProductionOfLocked(*pending)->bytes_read += pending->length;
      const Flows& charged = pending->batch->charged;
      QueueLocked(charged).Add(
          {.pending = pending, .bytes = *std::move(bytes), .status = {}});
      task = NextTaskLocked(charged);
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

DecodeQueue& Stream::QueueLocked(const Flows& charged) {
  return decode_queues_.try_emplace(charged, deps_.executor->workers())
      .first->second;
}

void Stream::DropIfEmptyLocked(const Flows& charged) {
  const auto found = decode_queues_.find(charged);
  if (found != decode_queues_.end() && found->second.empty() &&
      found->second.tasks() == 0)
    decode_queues_.erase(found);
}

std::optional<Stream::Task> Stream::NextTaskLocked(const Flows& charged) {
  const std::uint32_t samples = cost_.task_samples();
  DecodeQueue& queue = QueueLocked(charged);
  if (!queue.WantsTask(samples)) return std::nullopt;
  return Task{DemandLocked(*queue.front().pending, samples), charged};
}

executor::Demand Stream::DemandLocked(const PendingSample& first,
                                      std::uint32_t samples) const {
  const Batch& batch = *first.batch;
  const Member* const sponsor = members_.Find(batch.sponsor);
  return {.cpu_nanos = cost_.cpu_nanos() * samples,
          .urgency = sponsor == nullptr
                         ? 0
                         : sponsor->UrgencyAt(batch.key.first_sample)};
}

void Stream::Submit(std::optional<Task> task) {
  if (!task.has_value()) return;
  const absl::Span<const schedule::Flow> flows = task->flows;
  deps_.executor->SubmitFor(
      flows, task->demand,
      [self = shared_from_this(), charged = std::move(task->flows)](
          int worker) { self->RunTask(worker, charged); });
}

void Stream::RunTask(int worker, const Flows& charged) {
  std::vector<ReadSample> samples;
  std::optional<Task> task;
  {
    base::MutexLock lock(&mutex_);
    EnterLocked();
    samples = QueueLocked(charged).Take(cost_.task_samples());
    task = NextTaskLocked(charged);
    DropIfEmptyLocked(charged);
  }
  Submit(std::move(task));
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : samples)
    Make(&sample, *(*deps_.workspaces)[worker]);
  const std::int64_t cpu_nanos = base::Clock::ThreadCpu()->NowNanos() - started;
  const auto large = std::partition(
      samples.begin(), samples.end(),
      [](const ReadSample& sample) { return !sample.too_large; });
  std::for_each(large, samples.end(),
                [this](ReadSample& sample) { MakeInTurn(std::move(sample)); });
  samples.erase(large, samples.end());
  // Before their part of the read window is given away.
  for (ReadSample& sample : samples) sample.bytes = {};
  Finish(samples, cpu_nanos);
}

void Stream::Make(ReadSample* sample, pipeline::Workspace& workspace) const {
  if (sample->pending->batch->abandoned.load(std::memory_order_relaxed)) return;
  sample->status =
      maker_.Make(*sample->pending, sample->bytes.span(), workspace);
  sample->made = true;
  sample->too_large =
      absl::IsResourceExhausted(sample->status) && workspace.WantsLarger();
}

void Stream::MakeInTurn(ReadSample sample) {
  PendingSample* const pending = sample.pending;
  LargeSamples::Sample large{.batch = pending->batch, .demand = {}, .make = {}};
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
    self->Make(&again, shared);
    again.bytes = {};
    self->Finish({&again, 1}, base::Clock::ThreadCpu()->NowNanos() - started);
    return again.made;
  };
  base::MutexLock lock(&mutex_);
  large.demand = DemandLocked(*pending, /*samples=*/1);
  large_->Add(pending->batch->charged, std::move(large));
}

void Stream::Finish(absl::Span<const ReadSample> samples,
                    std::int64_t cpu_nanos) {
  for (const ReadSample& sample : samples) {
    if (absl::IsFailedPrecondition(sample.status) ||
        absl::IsNotFound(sample.status)) {
      deps_.on_changed(*spec_.dataset);
    }
  }
  Plan plan;
  {
    base::MutexLock lock(&mutex_);
    BookLocked(samples, cpu_nanos);
    const std::int64_t now = Now();
    for (const ReadSample& sample : samples) FinishSampleLocked(sample, now);
    members_.TakeReleases(batch_cache_.pool());
    plan = PlanLocked();
  }
  Execute(std::move(plan));
  Leave();
}

void Stream::BookLocked(absl::Span<const ReadSample> samples,
                        std::int64_t cpu_nanos) {
  const std::int64_t made =
      std::count_if(samples.begin(), samples.end(),
                    [](const ReadSample& sample) { return sample.made; });
  if (made == 0) return;
  cost_.Measured(cpu_nanos / made);
  for (const ReadSample& sample : samples) {
    if (!sample.made) continue;
    Production* const production = ProductionOfLocked(*sample.pending);
    if (sample.pending->variant == storage::kEncoded)
      ++production->samples_decoded;
    production->cpu_nanos += static_cast<std::uint64_t>(cpu_nanos / made);
  }
}

Production* Stream::ProductionOfLocked(const PendingSample& pending) {
  Member* const payer = members_.Find(PayerOf(pending));
  return payer == nullptr ? &unpaid_ : &payer->production();
}

void Stream::FinishSampleLocked(const ReadSample& sample,
                                std::int64_t now_nanos) {
  --samples_to_decode_;
  --sample.pending->batch->to_decode;
  sample.pending->batch->moved_at_nanos = now_nanos;
  prefetcher_.Leave(*sample.pending);
  if (!sample.status.ok() &&
      in_flight_.Substitute(*sample.pending, sample.status)) {
    ++ProductionOfLocked(*sample.pending)->samples_substituted;
    return;
  }
  const auto batch =
      in_flight_.Finish(*sample.pending, sample.status, batch_cache_.pool());
  if (batch != nullptr) StoreLocked(*batch);
}

void Stream::StoreLocked(const Batch& batch) {
  CompletedBatch completed{.key = batch.key,
                           .slot = batch.slot,
                           .samples = batch.samples.size(),
                           .bytes = 0,
                           .made_nanos = Now() - batch.asked_at_nanos,
                           .status = batch.status};
  if (!batch.status.ok()) {
    batch_cache_.pool().Abandon(batch.slot);
  } else {
    completed.bytes = layout_.Complete(
        batch.data, {.generation = batch_cache_.pool().generation(batch.slot),
                     .sample_count = batch.samples.size(),
                     .epoch = batch.key.epoch,
                     .first_sample = batch.key.first_sample});
  }
  batch_cache_.Put(std::move(completed));
}

}  // namespace forebay::stream
