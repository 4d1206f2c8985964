// The way of a batch from a free slot to its publication. Publisher hands each
// member the completed batches of its epoch, in order. BatchScheduler begins
// the batches that are missing, each in a slot. ReadLocked requests their
// samples in order while the read window has room. Samples whose bytes have
// arrived wait in a decode queue until a task decodes them, straight into the
// slot. A complete batch goes into the batch cache.
//
// A read that succeeds only queues its sample, and submits a task if the queue
// wants one. Every other event (a release, a finished sample, a new slot) is
// handled alike. With the mutex held, the handler changes the state and makes a
// StreamPlan of what follows (PlanLocked). Execute carries the plan out without
// the mutex: it submits tasks, sends reads, and has memory made. No lock is
// held while anything is read, decoded, copied or allocated, so a slow event
// delays no other one.
//
// Invariants. A sample that was handed out belongs to one read or task until
// Finish. A batch lives until its last such sample is finished, even if it was
// abandoned. Calls of ReleasePolling::Enter and Leave are paired on each path;
// between them, members need not wake the stream.
#include "server/stream/batch_maker.h"

#include <algorithm>
#include <utility>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/schedule/flow.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch_charges.h"
#include "server/worker/answer_waiter.h"

namespace forebay::stream {

BatchMaker::BatchMaker(const Deps& deps, const Aside& aside)
    : deps_(deps),
      state_(deps.state),
      work_(deps.sample_maker, deps.stream_deps->workspaces,
            deps.stream_deps->clock),
      slots_(
          deps.layout->slot_size(), aside,
          {.state = deps.state,
           .executor = deps.stream_deps->executor,
           .answer_waiter = deps.stream_deps->answer_waiter,
           .workers =
               deps.produced == nullptr ? nullptr : deps.produced->workers(),
           .workers_stage = deps.spec->workers_stage(),
           .is_live = deps.spec->dataset->is_live(),
           .update =
               [this](absl::FunctionRef<bool()> change) { Update(change); },
           .end_all_epochs =
               [this](const absl::Status& status) { EndAllEpochs(status); }}) {}

void BatchMaker::SetOwner(const std::shared_ptr<const void>& owner) {
  self_ = std::shared_ptr<BatchMaker>(owner, this);
  slots_.SetOwner(owner);
}

// --- Plans.

StreamPlan BatchMaker::Change(absl::FunctionRef<bool()> change) {
  base::MutexLock lock(&state_->mutex);
  return change() ? PlanLocked() : StreamPlan();
}

StreamPlan BatchMaker::PlanLocked() {
  StreamPlan plan;
  state_->CountStartedLocked();
  AdvanceLocked(&plan);
  TellMembersLocked(&plan);
  while (auto task = state_->tasks.NextProduced())
    plan.tasks.push_back(*std::move(task));
  return plan;
}

void BatchMaker::AdvanceLocked(StreamPlan* plan) {
  state_->BeginBatchesLocked(plan, Now());
  ReadLocked(plan);
  if (alive_ == nullptr && !plan->requests.empty()) alive_ = Self();
}

void BatchMaker::ReadLocked(StreamPlan* plan) {
  if (state_->members.Running() == 0 || !state_->prefetcher.HasRoom()) return;
  plan->requests.reserve(plan->requests.size() + state_->in_flight.waiting());
  const std::int64_t now = Now();
  const auto find = [this](slots::MemberId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                        state_->mutex) { return state_->members.Find(id); };
  ReadPayers payers;
  state_->prefetcher.Ask(now);
  while (auto read = state_->prefetcher.Next(state_->in_flight, find)) {
    payers.Charge(read->pending->batch->charged, &read->request);
    // The capture is small enough that std::function allocates nothing.
    read->request.done = [this, pending = read->pending](
                             absl::StatusOr<storage::ReadResult> result) {
      OnRead(pending, std::move(result));
    };
    plan->requests.push_back(std::move(read->request));
  }
  state_->NoteRequestedLocked(now);
}

void BatchMaker::TellMembersLocked(StreamPlan* plan) {
  while (state_->polling.TellMembers()) AdvanceLocked(plan);
}

void BatchMaker::Leave() {
  StreamPlan plan;
  {
    base::MutexLock lock(&state_->mutex);
    state_->polling.Leave();
    TellMembersLocked(&plan);
  }
  Execute(std::move(plan));
}

void BatchMaker::Execute(StreamPlan plan) {
  slots_.Submit(plan);
  if (plan.rechecks) Recheck();
  if (!plan.requests.empty())
    deps_.stream_deps->source->Read(absl::MakeSpan(plan.requests));
  for (SampleTask& task : plan.tasks) Submit(std::move(task));
}

void BatchMaker::Recheck() {
  constexpr std::int64_t kSoonNanos = 5'000'000;
  // If there is no waiter, the next Stream::ReleaseIdleMemory plans again.
  if (deps_.stream_deps->answer_waiter == nullptr) return;
  deps_.stream_deps->answer_waiter->PostAfter(kSoonNanos, [weak = self_] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->state_->mutex) {
      self->state_->rechecks = false;
      return true;
    });
  });
}

void BatchMaker::EndAllEpochs(const absl::Status& status) {
  // ABORTED is also the code of samples for which there is no worker.
  const absl::Status ended = absl::IsUnavailable(status)
                                 ? absl::AbortedError(status.message())
                                 : status;
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    if (!ended.ok()) state_->EndAllEpochsLocked(ended, Now());
    return true;
  });
}

// --- From bytes to pixels.

void BatchMaker::OnRead(PendingSample* pending,
                        absl::StatusOr<storage::ReadResult> result) {
  const absl::Status status = result.status();
  // Keeps the owner alive until the end of this function.
  std::shared_ptr<BatchMaker> self;
  std::optional<SampleTask> task;
  {
    base::MutexLock lock(&state_->mutex);
    self = alive_;
    state_->progress.EndRead(pending, &result);
    if (state_->prefetcher.reads_in_flight() == 0) alive_ = nullptr;
    if (status.ok()) {
      task = state_->tasks.Next(pending->batch->charged);
    } else {
      state_->polling.Enter();
    }
  }
  if (status.ok()) {
    Submit(std::move(task));
    return;
  }
  const ReadSample failed{
      .pending = pending,
      .bytes = {},
      .status = deps_.sample_maker->AnnotateError(*pending, status)};
  Finish({&failed, 1}, 0);
}

void BatchMaker::Submit(std::optional<SampleTask> task) {
  if (!task.has_value()) return;
  const absl::Span<const schedule::Flow> flows = task->flows;
  deps_.stream_deps->executor->SubmitFor(
      flows, task->demand, [self = Self(), task = *task](int place) {
        if (self->deps_.produced == nullptr) {
          self->RunTask(place, task);
        } else {
          self->Produce(place, task);
        }
      });
}

void BatchMaker::SubmitFor(const PendingSample& pending,
                           executor::Executor::Task task) {
  Flows flows;
  executor::Demand demand;
  {
    base::MutexLock lock(&state_->mutex);
    flows = pending.batch->charged;
    demand = state_->tasks.DemandOf(pending, /*samples=*/1);
  }
  const absl::Span<const schedule::Flow> payers = flows;
  deps_.stream_deps->executor->SubmitFor(payers, demand, std::move(task));
}

void BatchMaker::RunTask(int place, const SampleTask& task) {
  std::vector<ReadSample> samples;
  std::optional<SampleTask> next;
  bool is_known = false;
  {
    base::MutexLock lock(&state_->mutex);
    state_->polling.Enter();
    samples = state_->tasks.Take(task);
    next = state_->tasks.Next(task.flows);
    is_known = state_->tasks.cost().is_known();
  }
  Submit(std::move(next));
  std::vector<ReadSample> rest;
  std::vector<ReadSample> large;
  const std::int64_t cpu_nanos = work_.Make(place, &samples, &rest, &large);
  MakeInTurn(std::move(large));
  // The bytes are freed before Finish gives back their part of the read window.
  for (ReadSample& sample : samples) sample.bytes = {};
  Finish(samples, cpu_nanos);
  if (!is_known || !rest.empty()) SubmitMore(task.flows, std::move(rest));
}

void BatchMaker::SubmitMore(const Flows& flows, std::vector<ReadSample> rest) {
  std::vector<SampleTask> tasks;
  {
    base::MutexLock lock(&state_->mutex);
    state_->tasks.EndGuessed(flows);
    const auto want = [&](const Flows& wanting)
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
                            while (auto task = state_->tasks.Next(wanting))
                              tasks.push_back(*std::move(task));
                          };
    for (auto sample = rest.rbegin(); sample != rest.rend(); ++sample) {
      const Batch& batch = *sample->pending->batch;
      state_->tasks.AddAgain(std::move(*sample));
      want(batch.charged);
    }
    want(flows);
  }
  for (SampleTask& task : tasks) Submit(std::move(task));
}

void BatchMaker::Produce(int place, const SampleTask& task) {
  std::vector<ReadSample> samples;
  std::vector<SampleTask> more;
  {
    base::MutexLock lock(&state_->mutex);
    samples = state_->tasks.Take(task);
    // The task may have left samples for another worker.
    while (auto next = state_->tasks.NextProduced())
      more.push_back(*std::move(next));
  }
  for (SampleTask& next : more) Submit(std::move(next));
  std::int64_t own_nanos = 0;
  if (deps_.spec->user_code() != nullptr) {
    std::vector<ReadSample> large;
    own_nanos = work_.PutInUserBuffers(place, &samples, &large);
    MakeInTurn(std::move(large));
  }
  // Make may take long, so this thread does not count as polling for releases.
  deps_.produced->Make(place, std::move(samples),
                       [self = Self(), affinity = task.affinity,
                        own_nanos](ProducedSamples::Outcome outcome) {
                         const auto count =
                             static_cast<std::int64_t>(outcome.samples.size());
                         if (outcome.took_nanos.has_value())
                           self->NoteTime(*outcome.took_nanos / count);
                         outcome.cpu_nanos += own_nanos;
                         self->OnProduced(std::move(outcome), affinity);
                       });
}

void BatchMaker::NoteTime(std::int64_t nanos) {
  base::MutexLock lock(&state_->mutex);
  state_->tasks.cost().Took(nanos);
}

void BatchMaker::OnProduced(ProducedSamples::Outcome outcome,
                            std::optional<std::uint32_t> affinity) {
  std::vector<ReadSample>& samples = outcome.samples;
  const bool has_code = deps_.spec->user_code() != nullptr;
  if (has_code && !outcome.place.has_value() && !samples.empty()) {
    TakeLater(std::move(outcome), affinity);
    return;
  }
  const auto lost =
      std::partition(samples.begin(), samples.end(),
                     [](const ReadSample& sample) { return !sample.lost; });
  {
    base::MutexLock lock(&state_->mutex);
    state_->polling.Enter();
    state_->tasks.EndProduced(affinity);
    for (auto sample = lost; sample != samples.end(); ++sample)
      state_->progress.MakeAgain(std::move(*sample));
  }
  samples.erase(lost, samples.end());
  if (has_code && outcome.place.has_value())
    outcome.cpu_nanos += work_.TakeFromUserBuffers(*outcome.place, &samples);
  Finish(samples, outcome.cpu_nanos);
}

void BatchMaker::TakeLater(ProducedSamples::Outcome outcome,
                           std::optional<std::uint32_t> affinity) {
  // A std::function must be copyable.
  const auto shared =
      std::make_shared<ProducedSamples::Outcome>(std::move(outcome));
  SubmitFor(*shared->samples.front().pending,
            [self = Self(), shared, affinity](int place) {
              shared->place = place;
              self->OnProduced(std::move(*shared), affinity);
            });
}

void BatchMaker::MakeInTurn(std::vector<ReadSample> large) {
  for (ReadSample& sample : large) MakeInTurn(std::move(sample));
}

void BatchMaker::MakeInTurn(ReadSample sample) {
  PendingSample* const pending = sample.pending;
  sample::LargeSamples::Sample large{
      .batch = pending->batch, .demand = {}, .make = {}};
  large.make = [weak = self_, pending, bytes = std::move(sample.bytes)](
                   pipeline::Workspace& shared) mutable {
    const std::shared_ptr<BatchMaker> self = weak.lock();
    if (self == nullptr) return false;
    return self->MakeIn(
        shared, {.pending = pending, .bytes = std::move(bytes), .status = {}});
  };
  base::MutexLock lock(&state_->mutex);
  large.demand = state_->tasks.DemandOf(*pending, /*samples=*/1);
  deps_.large->Add(pending->batch->charged, std::move(large));
}

bool BatchMaker::MakeIn(pipeline::Workspace& shared, ReadSample sample) {
  {
    base::MutexLock lock(&state_->mutex);
    state_->polling.Enter();
  }
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  deps_.sample_maker->Make(&sample, shared);
  sample.bytes = {};
  const bool made = sample.is_made;
  sample.laid = made && sample.status.ok();
  if (sample.laid && deps_.spec->user_code() != nullptr) {
    QueueAgain(std::move(sample));
  } else {
    Finish({&sample, 1}, base::Clock::ThreadCpu()->NowNanos() - started);
  }
  return made;
}

void BatchMaker::QueueAgain(ReadSample sample) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    state_->tasks.AddAgain(std::move(sample));
    return true;
  });
  Leave();
}

void BatchMaker::Finish(absl::Span<const ReadSample> samples,
                        std::int64_t cpu_nanos) {
  for (const ReadSample& sample : samples) {
    if (absl::IsFailedPrecondition(sample.status) ||
        absl::IsNotFound(sample.status)) {
      deps_.stream_deps->on_changed(*deps_.spec->dataset);
    }
  }
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    state_->progress.Made(samples, cpu_nanos);
    const std::int64_t now = Now();
    for (const ReadSample& sample : samples) {
      Batch* const complete = state_->progress.Finish(sample, now);
      if (complete != nullptr)
        state_->completion.Complete(*complete, CopiedOf(complete), now);
    }
    state_->members.TakeReleases(state_->batch_cache.pool());
    return true;
  });
  Leave();
}

// --- From pixels to completed batches.

BatchCompletion::Copied BatchMaker::CopiedOf(Batch* batch) {
  return [self = Self(), batch](const CopyEnd& copy) {
    self->OnCopied(batch, copy);
  };
}

void BatchMaker::OnCopied(Batch* batch, const CopyEnd& copy) {
  Update([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    state_->completion.EndCopy(*batch, copy, CopiedOf(batch), Now());
    return true;
  });
}

}  // namespace forebay::stream
