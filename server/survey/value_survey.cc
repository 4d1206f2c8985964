// How values are surveyed. The caller's thread plans reads, some thousand
// samples at a time, and keeps many of them in flight. Bytes that arrive are
// queued for it: it submits a task that measures them, and takes the task's
// results. Where a part of a clip did not tell its length, more of it is read.
// Reads and tasks share what they need, so that a survey may end before them.
#include "server/survey/value_survey.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/audio/any_clip_decoder.h"
#include "server/audio/partial_file.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/sample/annotate_error.h"
#include "server/survey/measure_value.h"
#include "server/survey/read_planner.h"

namespace forebay::survey {
namespace {

constexpr std::uint64_t kPlanned = 4096;  // samples at a time
constexpr std::size_t kMostReads = 256;   // in flight
// Reads in flight take at most this part of the memory, and no more than that.
constexpr std::uint64_t kMemoryPart = 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::int64_t kMeasureNanos = 20'000;  // of CPU time, by guess

// A read on its way, from one step to the next.
struct Work {
  PlannedRead read;
  std::uint64_t counted = 0;  // bytes of memory
  base::Bytes bytes;
  bool is_measured = false;
  absl::Status status;
  // Of each value that was wanted; nothing: more must be read for it.
  std::vector<std::optional<ValueSize>> sizes = {};
};
using WorkPtr = std::shared_ptr<Work>;

// The part of a survey that reads and tasks share: it may end before them.
// Thread-safe.
class Shared {
 public:
  Shared(const Subject& subject, base::MemoryBudget* budget)
      : memory(budget, "measuring samples"),
        dataset(subject.dataset),
        field(subject.field) {}

  // Hands over what was read, or measured.
  void Add(WorkPtr work) {
    base::MutexLock lock(&mutex_);
    queue_.push_back(std::move(work));
    changed_.NotifyOne();
  }
  void Stop() {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyOne();
  }
  bool stopped() const {
    base::MutexLock lock(&mutex_);
    return stopped_;
  }
  // Blocks until there is something. Returns null if it was stopped.
  WorkPtr Next() {
    base::MutexLock lock(&mutex_);
    while (queue_.empty() && !stopped_) changed_.Wait(&mutex_);
    if (stopped_) return nullptr;
    WorkPtr next = std::move(queue_.front());
    queue_.pop_front();
    return next;
  }

  base::WorkingMemory memory;
  const std::shared_ptr<const dataset::Dataset> dataset;
  const std::size_t field;

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<WorkPtr> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// Measures the value by all that was read of its sample.
absl::StatusOr<ValueSize> MeasureSample(Shared& shared, const Wanted& wanted,
                                        absl::Span<const std::uint8_t> read) {
  std::vector<std::unique_ptr<std::uint8_t[]>> unpacked;
  std::uint64_t counted = 0;
  const auto room =
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    FOREBAY_RETURN_IF_ERROR(shared.memory.Grow(bytes));
    counted += bytes;
    unpacked.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(bytes));
    return absl::MakeSpan(unpacked.back().get(), bytes);
  };
  auto size =
      MeasureValue(*shared.dataset, wanted.sample, shared.field, read, room);
  unpacked.clear();
  shared.memory.Shrink(counted);
  return size;
}

// Measures a clip by the part that was read. Nothing: that does not tell.
absl::StatusOr<std::optional<ValueSize>> MeasureClip(const Shared& shared,
                                                     Wanted& wanted,
                                                     base::Bytes part) {
  audio::PartialFile file(part.span());
  if (wanted.part == Part::kHead)
    file = audio::PartialFile(wanted.clip.length, part.span(), {});
  if (wanted.part == Part::kTail)
    file =
        audio::PartialFile(wanted.clip.length, wanted.head.span(), part.span());
  audio::AnyClipDecoder decoder;
  const auto clip = decoder.Measure(file);
  if (!clip.ok()) {
    return sample::AnnotateFieldError(*shared.dataset, wanted.sample,
                                      shared.field, clip.status());
  }
  if (wanted.part == Part::kHead) wanted.head = std::move(part);
  if (!clip->has_value()) return std::nullopt;
  return ValueSize{.size = (*clip)->frames, .rate = (*clip)->sample_rate};
}

void Measure(Shared& shared, Work& work) {
  for (Wanted& wanted : work.read.wanted) {
    if (shared.stopped()) break;
    const std::uint64_t begin = wanted.offset - work.read.request.offset;
    const auto part = work.bytes.span().subspan(begin, wanted.length);
    if (wanted.part == Part::kSample) {
      auto size = MeasureSample(shared, wanted, part);
      work.status = size.status();
      if (size.ok()) work.sizes.emplace_back(*size);
    } else {
      auto size = MeasureClip(
          shared, wanted,
          base::Bytes(std::make_shared<base::Bytes>(work.bytes), part));
      work.status = size.status();
      if (size.ok()) work.sizes.push_back(*size);
    }
    if (!work.status.ok()) break;
  }
}

class Survey {
 public:
  Survey(const Subject& subject, const SurveyDeps& deps,
         storage::PaidSource* reads)
      : subject_(subject),
        deps_(deps),
        paid_reads_(reads),
        most_bytes_(std::min(deps.budget->limit() / kMemoryPart, kMostBytes)),
        planner_(subject.dataset.get(), subject.field),
        shared_(std::make_shared<Shared>(subject, deps.budget)) {}
  // Ends the tasks, too.
  ~Survey() { shared_->Stop(); }
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  absl::StatusOr<ValueSizesParts> Run(const std::stop_token& stop);

 private:
  absl::Status BeginReads();
  absl::Status Begin(PlannedRead read);
  absl::Status Take(const WorkPtr& work);
  // Sets `counted` to the bytes of it that are not held any longer.
  absl::Status TakeSizes(Work& work, std::uint64_t* counted);
  absl::Status CheckRead(const Work& work) const;
  void Submit(const WorkPtr& work);

  const Subject& subject_;
  const SurveyDeps& deps_;
  storage::PaidSource* const paid_reads_;
  const std::uint64_t most_bytes_;
  const ReadPlanner planner_;
  const std::shared_ptr<Shared> shared_;
  std::optional<ValueSizesBuilder> sizes_;
  std::uint64_t planned_ = 0;  // samples
  std::deque<PlannedRead> reads_;
  std::size_t in_flight_ = 0;
  std::uint64_t bytes_in_flight_ = 0;
};

absl::Status Survey::BeginReads() {
  const std::uint64_t samples = subject_.dataset->size();
  while (in_flight_ < kMostReads) {
    if (reads_.empty() && planned_ < samples) {
      const std::uint64_t begin = planned_;
      planned_ += std::min(kPlanned, samples - begin);
      for (PlannedRead& read : planner_.Plan(begin, planned_))
        reads_.push_back(std::move(read));
    }
    if (reads_.empty()) break;
    const std::uint64_t bytes =
        storage::HeldBytes(reads_.front().request.length);
    // One alone may be larger.
    if (in_flight_ > 0 &&
        bytes > most_bytes_ - std::min(most_bytes_, bytes_in_flight_))
      break;
    PlannedRead read = std::move(reads_.front());
    reads_.pop_front();
    FOREBAY_RETURN_IF_ERROR(Begin(std::move(read)));
  }
  return absl::OkStatus();
}

absl::Status Survey::Begin(PlannedRead read) {
  const std::uint64_t bytes = storage::HeldBytes(read.request.length);
  FOREBAY_RETURN_IF_ERROR(shared_->memory.Grow(bytes));
  bytes_in_flight_ += bytes;
  ++in_flight_;
  const auto work = std::make_shared<Work>();
  storage::ReadRequest request = read.request;
  work->counted = bytes + read.held;
  work->read = std::move(read);
  request.done = [shared = shared_,
                  work](absl::StatusOr<storage::ReadResult> result) {
    work->status = result.status();
    if (result.ok()) work->bytes = std::move(result->bytes);
    shared->Add(work);
  };
  paid_reads_->Read(absl::MakeSpan(&request, 1));
  return absl::OkStatus();
}

absl::Status Survey::CheckRead(const Work& work) const {
  absl::Status status = work.status;
  const std::uint64_t length = work.read.request.length;
  if (status.ok() && work.bytes.size() >= length) return status;
  if (status.ok()) {
    status = absl::DataLossError(
        absl::StrCat(work.read.request.object, ": a read gave ",
                     work.bytes.size(), " bytes instead of ", length));
  }
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status))
    deps_.on_changed(*subject_.dataset);
  return sample::AnnotateSampleError(*subject_.dataset,
                                     work.read.wanted.front().sample, status);
}

void Survey::Submit(const WorkPtr& work) {
  const auto values = static_cast<std::int64_t>(work->read.wanted.size());
  deps_.executor->SubmitFor(*paid_reads_->payers(),
                            {.cpu_nanos = values * kMeasureNanos, .urgency = 0},
                            [shared = shared_, work](int) {
                              Measure(*shared, *work);
                              work->is_measured = true;
                              shared->Add(work);
                            });
}

absl::Status Survey::TakeSizes(Work& work, std::uint64_t* counted) {
  FOREBAY_RETURN_IF_ERROR(work.status);
  *counted = work.counted;
  for (std::size_t i = 0; i < work.read.wanted.size(); ++i) {
    Wanted& wanted = work.read.wanted[i];
    if (!work.sizes[i].has_value()) {
      // Before all others, for its head is held meanwhile.
      PlannedRead more = planner_.PlanMore(std::move(wanted));
      if (more.wanted.front().part == Part::kTail)
        more.held = std::exchange(*counted, 0);
      reads_.push_front(std::move(more));
      continue;
    }
    const absl::Status set = sizes_->Set(wanted.sample, *work.sizes[i]);
    if (!set.ok()) {
      return sample::AnnotateFieldError(*subject_.dataset, wanted.sample,
                                        subject_.field, set);
    }
  }
  return absl::OkStatus();
}

absl::Status Survey::Take(const WorkPtr& work) {
  if (!work->is_measured) {
    FOREBAY_RETURN_IF_ERROR(CheckRead(*work));
    Submit(work);
    return absl::OkStatus();
  }
  std::uint64_t counted = 0;
  FOREBAY_RETURN_IF_ERROR(TakeSizes(*work, &counted));
  work->bytes = {};
  shared_->memory.Shrink(counted);
  bytes_in_flight_ -= counted;
  --in_flight_;
  return absl::OkStatus();
}

absl::StatusOr<ValueSizesParts> Survey::Run(const std::stop_token& stop) {
  const std::uint64_t samples = subject_.dataset->size();
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation reservation,
      deps_.budget->Reserve(samples * sizeof(std::uint64_t),
                            "the lengths of samples"));
  sizes_.emplace(samples, std::move(reservation));
  const std::stop_callback on_stop(stop,
                                   [shared = shared_] { shared->Stop(); });
  FOREBAY_RETURN_IF_ERROR(BeginReads());
  while (in_flight_ > 0) {
    const WorkPtr work = shared_->Next();
    if (work == nullptr)
      return absl::CancelledError("its samples were not all measured");
    FOREBAY_RETURN_IF_ERROR(Take(work));
    FOREBAY_RETURN_IF_ERROR(BeginReads());
  }
  return sizes_->Take();
}

}  // namespace

absl::StatusOr<ValueSizesParts> SurveyValues(const Subject& subject,
                                             const SurveyDeps& deps,
                                             const std::stop_token& stop) {
  storage::PaidSource own(deps.source, subject.job);
  return Survey(subject, deps, subject.reads == nullptr ? &own : subject.reads)
      .Run(stop);
}

}  // namespace forebay::survey
