#include "server/stream/produced_samples.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/base/check.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/memory_limiter.h"
#include "server/worker/stall_policy.h"
#include "server/worker/worker_process.h"

namespace forebay::stream {
namespace {

// The time for which a task first waits for its worker's answer, before it
// checks whether the worker sleeps. The task keeps a thread meanwhile, and a
// sleeping worker does not need it, so the first check comes soon. Each further
// wait is twice as long.
constexpr int kFirstLookMilliseconds = 1;
// A worker counts as computing if it is ready to run, or has used a core for at
// least a quarter of the time since the last look.
constexpr std::int64_t kBusyPart = 4;
constexpr std::int64_t kNanosPerMilli = 1'000'000;
// The longest time for which a task keeps its thread for its worker. Short
// tasks of others need the thread.
constexpr int kLongestMilliseconds = 15;
// The number of workers that may die while they make one sample before the
// sample fails.
constexpr std::uint32_t kMaxDeaths = 3;
// The number of workers that may be ended while they make one sample because
// all workers together have too much memory. It is high because the sample
// itself is probably not to blame.
constexpr std::uint32_t kMaxShortOfMemory = 20;
// The numbers of workers that may end before they begin one sample, and that
// may be stopped while they make one.
constexpr std::uint32_t kMaxUntaken = 20;
constexpr std::uint32_t kMaxStops = 20;

std::string Mib(std::uint64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

// Books that a worker ended while it made the sample. Returns an error if the
// sample is not to be made again.
absl::Status BookLoss(PendingSample& pending,
                      const std::optional<worker::Overrun>& overrun) {
  if (overrun.has_value() && !overrun->alone()) {
    if (++pending.short_of_memory < kMaxShortOfMemory) return absl::OkStatus();
    return absl::UnknownError(absl::StrCat(
        kMaxShortOfMemory,
        " worker processes were ended while they made sample ", pending.id,
        ": the last had ", Mib(overrun->bytes),
        " of memory of its own, and all had ", Mib(overrun->together),
        ", more than ", Mib(overrun->limit), " (producer.memory)"));
  }
  if (++pending.deaths < kMaxDeaths) return absl::OkStatus();
  std::string text = absl::StrCat(
      kMaxDeaths, " worker processes ended while they made sample ",
      pending.id);
  if (overrun.has_value()) {
    absl::StrAppend(&text, ": the last had ", Mib(overrun->bytes),
                    " of memory of its own, and all may have ",
                    Mib(overrun->limit), " (producer.memory)");
  }
  return absl::UnknownError(text);
}

// Books that a worker ended before it began the sample. Returns an error if the
// sample is not to be made again.
absl::Status BookUntaken(PendingSample& pending) {
  if (++pending.untaken < kMaxUntaken) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(
      kMaxUntaken, " worker processes ended before they took sample ",
      pending.id));
}

// Books that a worker was killed because it stood still. Returns an error if
// the sample is not to be made again.
absl::Status BookStall(PendingSample& pending, worker::Stall stall) {
  if (stall == worker::Stall::kAsleep) {
    pending.has_retried = true;
    return absl::OkStatus();
  }
  if (++pending.stops < kMaxStops) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat(kMaxStops,
                   " worker processes were stopped by signals while they made "
                   "sample ",
                   pending.id));
}

// Returns the offsets in a slot that WorkerCommand::kMapSlot describes
// (proto/worker_socket.h).
std::vector<std::uint64_t> OffsetsOf(const StreamSpec& spec,
                                     const BatchLayout& layout) {
  if (spec.user_code() != nullptr) {
    const BatchLayout::Rows buffers = layout.user_buffers();
    const BatchLayout::Rows rows = layout.RowsOf(spec.image_field());
    if (spec.code_fills_rows())
      return {buffers.offset, buffers.bytes_each, rows.offset, rows.bytes_each};
    return {buffers.offset, buffers.bytes_each,
            buffers.offset + sizeof(proto::RawImageHeader), buffers.bytes_each};
  }
  std::vector<std::uint64_t> offsets;
  for (std::size_t field = 0; field < spec.fields.size(); ++field)
    offsets.push_back(layout.RowsOf(field).offset);
  return offsets;
}

// Returns the nanoseconds that the worker has waited for a core so far; nullopt
// if that time is not known.
std::optional<std::int64_t> RunQueueNanosOf(const worker::Worker& worker) {
  const worker::Process* const process = worker.process();
  return process == nullptr ? std::nullopt : process->RunQueueNanos();
}

// Whether the sample has not failed, and its batch is not abandoned.
bool IsWanted(const ReadSample& sample) {
  return sample.status.ok() &&
         !sample.pending->batch->abandoned.load(std::memory_order_relaxed);
}

// Returns the error of samples for which there is no worker. UNAVAILABLE and
// FAILED_PRECONDITION become ABORTED, because elsewhere they mean a passing
// fault and a changed file.
absl::Status NoWorker(const absl::Status& reason) {
  const bool is_gone =
      absl::IsUnavailable(reason) || absl::IsFailedPrecondition(reason);
  return is_gone ? absl::AbortedError(reason.message()) : reason;
}

template <typename Value>
void Append(const Value& value, std::vector<std::uint8_t>* bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(&value);
  bytes->insert(bytes->end(), begin, begin + sizeof(value));
}

}  // namespace

ProducedSamples::ProducedSamples(const StreamSpec* spec,
                                 const BatchLayout* layout,
                                 const StreamDeps* deps, Submit submit)
    : spec_(spec),
      layout_(layout),
      deps_(deps),
      submit_(std::move(submit)),
      workers_(worker::WorkerSet::Create(
          OffsetsOf(*spec, *layout), spec->dataset->uri(),
          {.waiter = deps->answer_waiter,
           .clock = deps->clock,
           .memory = deps->memory_watch,
           .makes_parts = spec->batch.size > 1})) {}

std::optional<std::uint32_t> ProducedSamples::AffinityOf(
    const PendingSample& pending) const {
  const std::uint32_t affinity_workers = spec_->dataset->affinity_workers();
  if (affinity_workers == 0) return std::nullopt;
  return static_cast<std::uint32_t>(pending.id % affinity_workers);
}

void ProducedSamples::Make(int place, std::vector<ReadSample> samples,
                           Done done) {
  if (std::none_of(samples.begin(), samples.end(), IsWanted)) {
    done({.samples = std::move(samples),
          .took_nanos = std::nullopt,
          .place = place});
    return;
  }
  const auto work = std::make_shared<Work>(
      Work{.samples = std::move(samples), .done = std::move(done)});
  const PendingSample& first = *work->samples.front().pending;
  auto worker = workers_->Take(
      AffinityOf(first), [this, work, &first](absl::StatusOr<WorkerPtr> taken) {
        submit_(first, [this, work, taken = std::move(taken)](int resumed) {
          Run(resumed, work, taken);
        });
      });
  // Without a worker, this task gives its thread up until one is there.
  if (worker.ok() && *worker == nullptr) return;
  Run(place, work, std::move(worker));
}

void ProducedSamples::Run(int place, const WorkPtr& work,
                          absl::StatusOr<WorkerPtr> worker) {
  if (!worker.ok()) {
    const absl::Status status = NoWorker(worker.status());
    for (ReadSample& sample : work->samples) {
      sample.status.Update(status);
      sample.refused = true;
    }
    work->done({.samples = std::move(work->samples),
                .took_nanos = std::nullopt,
                .place = place});
    return;
  }
  work->worker = *std::move(worker);
  if (!Ask(*work)) {
    workers_->GiveBack(std::exchange(work->worker, nullptr), true);
    work->done({.samples = std::move(work->samples),
                .took_nanos = std::nullopt,
                .place = place});
    return;
  }
  AnswerOr answer = AwaitBusy(*work->worker);
  if (!absl::IsDeadlineExceeded(answer.status())) {
    OnAnswer(work, std::move(answer), place);
    return;
  }
  deps_->answer_waiter->Wait(
      std::shared_ptr<worker::TaskSocket>(work->worker, &work->worker->socket),
      [this, work](AnswerOr said) {
        OnAnswer(work, std::move(said), std::nullopt);
      });
}

bool ProducedSamples::Ask(Work& work) {
  std::vector<std::uint8_t> described;
  std::uint32_t count = 0;
  bool has_retried = false;
  for (ReadSample& sample : work.samples) {
    const PendingSample& pending = *sample.pending;
    sample.asked = false;
    if (!IsWanted(sample)) continue;
    layout_->SetSampleId(pending.batch->memory, pending.index,
                         static_cast<std::int64_t>(pending.id));
    sample.is_made = sample.asked = true;
    has_retried |= pending.has_retried;
    Describe(pending, &described);
    ++count;
  }
  if (count == 0) return false;
  const proto::WorkerTask task = {
      .command = spec_->workers_stage() ? proto::WorkerCommand::kMakeOnDevice
                                        : proto::WorkerCommand::kMake,
      .slot = 0,
      .bytes = 0,
      .epoch = work.samples.front().pending->batch->key.epoch,
      .count = count,
      .reserved = 0};
  work.asked_at_nanos = deps_->clock->NowNanos();
  work.run_queue_nanos = RunQueueNanosOf(*work.worker);
  work.worker->Begin(work.asked_at_nanos, has_retried);
  // A worker that is gone is noticed when its answer is awaited.
  work.worker->socket.Ask(task, described, -1).IgnoreError();
  return true;
}

void ProducedSamples::Describe(const PendingSample& pending,
                               std::vector<std::uint8_t>* behind) const {
  // A sample that occurs more than once in an epoch is drawn differently each
  // time. The multiplier is the golden ratio times 2^64.
  base::PhiloxStream stream(spec_->seed + pending.repeat * 0x9E3779B97F4A7C15,
                            pending.batch->key.epoch, pending.id,
                            base::kUserCodeStream);
  const BatchMemory& memory = pending.batch->memory;
  const proto::ProducedSample sample = {.id = pending.id,
                                        .seed = stream.NextUint64(),
                                        .slot = NumberOf(memory.host),
                                        .row = pending.index};
  if (spec_->workers_stage()) {
    Append(
        proto::ProducedOnDevice{
            .sample = sample, .device = NumberOf(memory.device), .reserved = 0},
        behind);
  } else {
    Append(sample, behind);
  }
}

std::uint32_t ProducedSamples::NumberOf(const std::uint8_t* memory) const {
  const auto number = workers_->SlotAt(memory);
  FOREBAY_CHECK(number.has_value());
  return *number;
}

ProducedSamples::AnswerOr ProducedSamples::AwaitBusy(worker::Worker& worker) {
  std::int64_t before = worker.socket.CpuNanos();
  int waited = 0;
  for (int step = kFirstLookMilliseconds;; step *= 2) {
    AnswerOr answer = worker.socket.Await(step);
    waited += step;
    if (!absl::IsDeadlineExceeded(answer.status()) ||
        waited >= kLongestMilliseconds)
      return answer;
    const std::int64_t now = worker.socket.CpuNanos();
    if (now < 0) return answer;
    const bool computes = now - before >= step * kNanosPerMilli / kBusyPart;
    if (!computes && !worker.socket.IsRunnable()) return answer;
    before = now;
  }
}

void ProducedSamples::OnAnswer(const WorkPtr& work, AnswerOr answer,
                               std::optional<int> place) {
  worker::Process* const process = work->worker->process();
  if (answer.ok() || process == nullptr || workers_->ended()) {
    Finish(work, answer, place);
    return;
  }
  // The samples may be made again only once the process is gone. A process
  // without a socket may still run, and write into the samples' rows after
  // another worker has made them. A process that the daemon may not kill ends
  // itself once its socket is closed.
  work->worker->socket.End();
  process->Kill();
  deps_->answer_waiter->Watch(process->fd(),
                              [this, work, status = answer.status()] {
                                Finish(work, status, std::nullopt);
                                return true;
                              });
}

std::int64_t ProducedSamples::TookNanos(const Work& work) const {
  const std::int64_t took = deps_->clock->NowNanos() - work.asked_at_nanos;
  const auto run_queue_nanos = RunQueueNanosOf(*work.worker);
  if (!run_queue_nanos.has_value() || !work.run_queue_nanos.has_value())
    return took;
  return std::max<std::int64_t>(
      took - (*run_queue_nanos - *work.run_queue_nanos), 0);
}

void ProducedSamples::Finish(const WorkPtr& work, const AnswerOr& answer,
                             std::optional<int> place) {
  Outcome outcome{.samples = {}, .took_nanos = std::nullopt, .place = place};
  if (answer.ok()) {
    outcome.cpu_nanos = static_cast<std::int64_t>(answer->cpu_nanos);
    outcome.took_nanos = TookNanos(*work);
  }
  if (place.has_value()) {
    deps_->executor->AddCpu(*place,
                            outcome.cpu_nanos + owed_nanos_.exchange(0));
  } else {
    owed_nanos_ += outcome.cpu_nanos;
  }
  Take(*work, answer);
  outcome.samples = std::move(work->samples);
  work->done(std::move(outcome));
}

void ProducedSamples::Take(Work& work, const AnswerOr& answer) {
  const WorkerPtr worker = std::exchange(work.worker, nullptr);
  const std::optional<worker::Overrun> overrun = worker->overrun();
  const std::optional<worker::Stall> stall = worker->stall();
  const bool may_have_begun = worker->socket.may_have_begun();
  workers_->GiveBack(worker, answer.ok());
  std::vector<ReadSample*> asked;
  for (ReadSample& sample : work.samples) {
    if (sample.asked) asked.push_back(&sample);
  }
  if (answer.ok()) {
    for (const worker::TaskFailure& failure : answer->failures) {
      if (failure.index < asked.size())
        asked[failure.index]->status = absl::UnknownError(failure.text);
    }
    return;
  }
  for (ReadSample* const sample : asked) {
    sample->is_made = false;
    if (stall.has_value()) {
      sample->status = BookStall(*sample->pending, *stall);
    } else if (!may_have_begun) {
      sample->status = BookUntaken(*sample->pending);
    } else {
      sample->status = BookLoss(*sample->pending, overrun);
    }
    sample->lost = sample->status.ok();
  }
}

}  // namespace forebay::stream
