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
#include "server/producer/answer_waiter.h"
#include "server/producer/memory_limiter.h"
#include "server/producer/process.h"
#include "server/producer/stall_policy.h"

namespace forebay::stream {
namespace {

// The number, among the ops that draw, of all that the user's code draws.
constexpr std::uint16_t kProducerOp = 0xFFFF;
// When it is looked whether a producer computes: soon, since one that sleeps
// needs no core, and then less and less often. It does if it has computed for
// this part of the time, or waits for a core.
constexpr int kFirstLookMilliseconds = 1;
constexpr std::int64_t kBusyPart = 4;
constexpr std::int64_t kNanosPerMilli = 1'000'000;
// A task whose producer takes longer keeps no worker: short tasks need it.
constexpr int kLongestMilliseconds = 15;
// Producers that may die of one sample.
constexpr std::uint32_t kMaxDeaths = 3;
// Producers that may be ended while they make one sample because all together
// have too much memory.
constexpr std::uint32_t kMaxShortOfMemory = 20;
// Producers that may end before they take one sample, and that may be stopped
// while they make one.
constexpr std::uint32_t kMaxUntaken = 20;
constexpr std::uint32_t kMaxStops = 20;

std::string Mib(std::uint64_t bytes) {
  return absl::StrCat(bytes >> 20, " MiB");
}

// Books that the producer ended that made the sample. Returns an error if the
// sample is not to be made again.
absl::Status BookLoss(PendingSample& pending,
                      const std::optional<producer::Overrun>& overrun) {
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

// As BookLoss, of a producer that ended before it took the sample.
absl::Status BookUntaken(PendingSample& pending) {
  if (++pending.untaken < kMaxUntaken) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(
      kMaxUntaken, " worker processes ended before they took sample ",
      pending.id));
}

// As BookLoss, of a producer that was killed because it stood still.
absl::Status BookStall(PendingSample& pending, producer::Stall stall) {
  if (stall == producer::Stall::kAsleep) {
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

// The offsets in a slot that proto/producer_socket.h describes.
std::vector<std::uint64_t> OffsetsOf(const StreamSpec& spec,
                                     const BatchLayout& layout) {
  if (spec.user_code() != nullptr) {
    const BatchLayout::Rows desks = layout.desks();
    const BatchLayout::Rows rows = layout.RowsOf(spec.image_field());
    if (spec.code_fills_rows())
      return {desks.offset, desks.bytes_each, rows.offset, rows.bytes_each};
    return {desks.offset, desks.bytes_each,
            desks.offset + sizeof(proto::RawImageHeader), desks.bytes_each};
  }
  std::vector<std::uint64_t> offsets;
  for (std::size_t field = 0; field < spec.fields.size(); ++field)
    offsets.push_back(layout.RowsOf(field).offset);
  return offsets;
}

// The time that the producer has waited for a core; nullopt if that cannot be
// seen.
std::optional<std::int64_t> RunQueueNanosOf(
    const producer::Producer& producer) {
  const producer::Process* const process = producer.process();
  return process == nullptr ? std::nullopt : process->RunQueueNanos();
}

bool IsWanted(const ReadSample& sample) {
  return sample.status.ok() &&
         !sample.pending->batch->abandoned.load(std::memory_order_relaxed);
}

// Returns the error of samples for which no producer could be had. A gap in
// the user's processes is neither a passing fault nor a changed file.
absl::Status NoProducer(const absl::Status& reason) {
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
      producers_(producer::ProducerSet::Create(
          OffsetsOf(*spec, *layout), spec->dataset->uri(),
          {.waiter = deps->answer_waiter,
           .clock = deps->clock,
           .memory = deps->memory_watch,
           .makes_parts = spec->batch.size > 1})) {}

std::optional<std::uint32_t> ProducedSamples::LaneOf(
    const PendingSample& pending) const {
  const std::uint32_t lanes = spec_->dataset->lanes();
  if (lanes == 0) return std::nullopt;
  return static_cast<std::uint32_t>(pending.id % lanes);
}

void ProducedSamples::Make(int worker, std::vector<ReadSample> samples,
                           Done done) {
  if (std::none_of(samples.begin(), samples.end(), IsWanted)) {
    done({.samples = std::move(samples),
          .took_nanos = std::nullopt,
          .worker = worker});
    return;
  }
  const auto work = std::make_shared<Work>(
      Work{.samples = std::move(samples), .done = std::move(done)});
  const PendingSample& first = *work->samples.front().pending;
  auto producer = producers_->Take(
      LaneOf(first), [this, work, &first](absl::StatusOr<ProducerPtr> taken) {
        submit_(first, [this, work, taken = std::move(taken)](int resumed) {
          Run(resumed, work, taken);
        });
      });
  // The worker is free for others until there is a producer.
  if (producer.ok() && *producer == nullptr) return;
  Run(worker, work, std::move(producer));
}

void ProducedSamples::Run(int worker, const WorkPtr& work,
                          absl::StatusOr<ProducerPtr> producer) {
  if (!producer.ok()) {
    const absl::Status status = NoProducer(producer.status());
    for (ReadSample& sample : work->samples) {
      sample.status.Update(status);
      sample.refused = true;
    }
    work->done({.samples = std::move(work->samples),
                .took_nanos = std::nullopt,
                .worker = worker});
    return;
  }
  work->producer = *std::move(producer);
  if (!Ask(*work)) {
    producers_->GiveBack(std::exchange(work->producer, nullptr), true);
    work->done({.samples = std::move(work->samples),
                .took_nanos = std::nullopt,
                .worker = worker});
    return;
  }
  AnswerOr answer = AwaitBusy(*work->producer);
  if (!absl::IsDeadlineExceeded(answer.status())) {
    OnAnswer(work, std::move(answer), worker);
    return;
  }
  deps_->answer_waiter->Wait(std::shared_ptr<producer::TaskSocket>(
                                 work->producer, &work->producer->socket),
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
    sample.made = sample.asked = true;
    has_retried |= pending.has_retried;
    Describe(pending, &described);
    ++count;
  }
  if (count == 0) return false;
  const proto::ProducerTask task = {
      .command = spec_->producers_stage()
                     ? proto::ProducerCommand::kMakeOnDevice
                     : proto::ProducerCommand::kMake,
      .slot = 0,
      .bytes = 0,
      .epoch = work.samples.front().pending->batch->key.epoch,
      .count = count,
      .reserved = 0};
  work.asked_at_nanos = deps_->clock->NowNanos();
  work.run_queue_nanos = RunQueueNanosOf(*work.producer);
  work.producer->Begin(work.asked_at_nanos, has_retried);
  // A producer that is gone is noticed when its answer is awaited.
  work.producer->socket.Ask(task, described, -1).IgnoreError();
  return true;
}

void ProducedSamples::Describe(const PendingSample& pending,
                               std::vector<std::uint8_t>* behind) const {
  // A sample that an epoch has more than once looks different each time.
  base::PhiloxStream stream(spec_->seed + pending.repeat * 0x9E3779B97F4A7C15,
                            pending.batch->key.epoch, pending.id, kProducerOp);
  const BatchMemory& memory = pending.batch->memory;
  const proto::ProducedSample sample = {.id = pending.id,
                                        .seed = stream.NextUint64(),
                                        .slot = NumberOf(memory.host),
                                        .row = pending.index};
  if (spec_->producers_stage()) {
    Append(
        proto::ProducedOnDevice{
            .sample = sample, .device = NumberOf(memory.device), .reserved = 0},
        behind);
  } else {
    Append(sample, behind);
  }
}

std::uint32_t ProducedSamples::NumberOf(const std::uint8_t* memory) const {
  const auto number = producers_->SlotAt(memory);
  FOREBAY_CHECK(number.has_value());
  return *number;
}

ProducedSamples::AnswerOr ProducedSamples::AwaitBusy(
    producer::Producer& producer) {
  std::int64_t before = producer.socket.CpuNanos();
  int waited = 0;
  for (int step = kFirstLookMilliseconds;; step *= 2) {
    AnswerOr answer = producer.socket.Await(step);
    waited += step;
    if (!absl::IsDeadlineExceeded(answer.status()) ||
        waited >= kLongestMilliseconds)
      return answer;
    const std::int64_t now = producer.socket.CpuNanos();
    if (now < 0) return answer;
    const bool computes = now - before >= step * kNanosPerMilli / kBusyPart;
    if (!computes && !producer.socket.IsRunnable()) return answer;
    before = now;
  }
}

void ProducedSamples::OnAnswer(const WorkPtr& work, AnswerOr answer,
                               std::optional<int> worker) {
  producer::Process* const process = work->producer->process();
  if (answer.ok() || process == nullptr || producers_->ended()) {
    Finish(work, answer, worker);
    return;
  }
  // A process without a socket may still run, and write into the samples' rows
  // after another has made them. One that is gone cannot.
  // Where it may not be killed, it ends itself once its socket is closed.
  work->producer->socket.End();
  process->Kill();
  deps_->answer_waiter->Watch(process->fd(),
                              [this, work, status = answer.status()] {
                                Finish(work, status, std::nullopt);
                                return true;
                              });
}

std::int64_t ProducedSamples::TookNanos(const Work& work) const {
  const std::int64_t took = deps_->clock->NowNanos() - work.asked_at_nanos;
  const auto run_queue_nanos = RunQueueNanosOf(*work.producer);
  if (!run_queue_nanos.has_value() || !work.run_queue_nanos.has_value())
    return took;
  return std::max<std::int64_t>(
      took - (*run_queue_nanos - *work.run_queue_nanos), 0);
}

void ProducedSamples::Finish(const WorkPtr& work, const AnswerOr& answer,
                             std::optional<int> worker) {
  Outcome outcome{.samples = {}, .took_nanos = std::nullopt, .worker = worker};
  if (answer.ok()) {
    outcome.cpu_nanos = static_cast<std::int64_t>(answer->cpu_nanos);
    outcome.took_nanos = TookNanos(*work);
  }
  if (worker.has_value()) {
    deps_->executor->AddCpu(*worker,
                            outcome.cpu_nanos + owed_nanos_.exchange(0));
  } else {
    owed_nanos_ += outcome.cpu_nanos;
  }
  Take(*work, answer);
  outcome.samples = std::move(work->samples);
  work->done(std::move(outcome));
}

void ProducedSamples::Take(Work& work, const AnswerOr& answer) {
  const ProducerPtr producer = std::exchange(work.producer, nullptr);
  const std::optional<producer::Overrun> overrun = producer->overrun();
  const std::optional<producer::Stall> stall = producer->stall();
  const bool may_have_begun = producer->socket.may_have_begun();
  producers_->GiveBack(producer, answer.ok());
  std::vector<ReadSample*> asked;
  for (ReadSample& sample : work.samples) {
    if (sample.asked) asked.push_back(&sample);
  }
  if (answer.ok()) {
    for (const producer::Failure& failure : answer->failures) {
      if (failure.index < asked.size())
        asked[failure.index]->status = absl::UnknownError(failure.text);
    }
    return;
  }
  for (ReadSample* const sample : asked) {
    sample->made = false;
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
