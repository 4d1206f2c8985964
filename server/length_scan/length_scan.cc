// The calling thread plans the reads of several thousand samples at a time, and
// keeps many reads in flight. Completed reads are queued for this thread. For
// each of them, the thread submits a task that measures the bytes. The task
// queues its results for the thread, too. Only the calling thread therefore
// updates the state, without locks.
//
// For most clips, only the head is read. If the head does not tell the length,
// the tail is read, and then, if necessary, all of the clip. These reads come
// before all others, since the bytes of the head stay in memory meanwhile.
//
// Reads and tasks share ownership of the objects that they use. A scan that was
// stopped or has failed may therefore return while reads and tasks are in
// flight.
#include "server/length_scan/length_scan.h"

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
#include "server/length_scan/measure_value.h"
#include "server/length_scan/read_planner.h"
#include "server/sample/annotate_error.h"

namespace forebay::length_scan {
namespace {

// Number of samples whose reads are planned together. Reads are sorted and
// joined only with reads of the same plan.
constexpr std::uint64_t kPlanned = 4096;
// The most reads in flight.
constexpr std::size_t kMostReads = 256;
// Bytes in flight take at most one part in kMemoryPart of the budget, and at
// most kMostBytes.
constexpr std::uint64_t kMemoryPart = 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
// The assumed CPU time of measuring one value, for the executor's fair queue.
constexpr std::int64_t kMeasureNanos = 20'000;

// A read and the values to measure in it. One thread at a time uses it.
struct Work {
  PlannedRead read;
  // The bytes that the scan's memory counts for this work.
  std::uint64_t counted = 0;
  base::Bytes bytes;         // the result of the read
  bool is_measured = false;  // whether the task has run
  absl::Status status;       // error of the read or task
  // The size of each wanted value; nothing if more of its clip must be read.
  std::vector<std::optional<ValueSize>> sizes = {};
};
using WorkPtr = std::shared_ptr<Work>;

// The part of a length scan that its reads and tasks share, since they may
// outlive the scan. Thread-safe.
class Shared {
 public:
  Shared(const Subject& subject, base::MemoryBudget* budget)
      : memory(budget, "measuring samples"),
        dataset(subject.dataset),
        field(subject.field) {}

  // Queues work, which was read or measured, for the scan's thread.
  void Add(WorkPtr work) {
    base::MutexLock lock(&mutex_);
    queue_.push_back(std::move(work));
    changed_.NotifyOne();
  }
  // From now on, Next returns null, and tasks end early.
  void Stop() {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyOne();
  }
  bool stopped() const {
    base::MutexLock lock(&mutex_);
    return stopped_;
  }
  // Returns the next work in the queue. Blocks while the queue is empty.
  // Returns null if the scan was stopped.
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

// Measures a value. `read` has the bytes of its sample's extent. Counts
// decompressed bytes in the scan's memory meanwhile.
absl::StatusOr<ValueSize> MeasureSample(Shared& shared, const Wanted& wanted,
                                        absl::Span<const std::uint8_t> read) {
  std::vector<std::unique_ptr<std::uint8_t[]>> decompressed;
  std::uint64_t counted = 0;
  const auto room =
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    FOREBAY_RETURN_IF_ERROR(shared.memory.Grow(bytes));
    counted += bytes;
    decompressed.push_back(
        std::make_unique_for_overwrite<std::uint8_t[]>(bytes));
    return absl::MakeSpan(decompressed.back().get(), bytes);
  };
  auto size =
      MeasureValue(*shared.dataset, wanted.sample, shared.field, read, room);
  decompressed.clear();
  shared.memory.Shrink(counted);
  return size;
}

// Measures a clip from `part`, the bytes that were read. Returns nothing if
// they do not tell the length. If the part is the head, it is then kept in
// `wanted`.
absl::StatusOr<std::optional<ValueSize>> MeasureClip(const Shared& shared,
                                                     Wanted& wanted,
                                                     base::Bytes part) {
  audio::PartialFile file(part.span());
  if (wanted.part == MeasuredPart::kHead)
    file = audio::PartialFile(wanted.clip.length, part.span(), {});
  if (wanted.part == MeasuredPart::kTail)
    file =
        audio::PartialFile(wanted.clip.length, wanted.head.span(), part.span());
  audio::AnyClipDecoder decoder;
  const auto clip = decoder.Measure(file);
  if (!clip.ok()) {
    return sample::AnnotateFieldError(*shared.dataset, wanted.sample,
                                      shared.field, clip.status());
  }
  if (wanted.part == MeasuredPart::kHead) wanted.head = std::move(part);
  if (!clip->has_value()) return std::nullopt;
  return ValueSize{.size = (*clip)->frames, .rate = (*clip)->sample_rate};
}

// Measures all values of a read, up to the first error. Runs as a task.
void Measure(Shared& shared, Work& work) {
  for (Wanted& wanted : work.read.wanted) {
    if (shared.stopped()) break;
    const std::uint64_t begin = wanted.offset - work.read.request.offset;
    const auto part = work.bytes.span().subspan(begin, wanted.length);
    if (wanted.part == MeasuredPart::kSample) {
      auto size = MeasureSample(shared, wanted, part);
      work.status = size.status();
      if (size.ok()) work.sizes.emplace_back(*size);
    } else {
      // `part` shares ownership of the read's bytes, since MeasureClip may keep
      // it.
      auto size = MeasureClip(
          shared, wanted,
          base::Bytes(std::make_shared<base::Bytes>(work.bytes), part));
      work.status = size.status();
      if (size.ok()) work.sizes.push_back(*size);
    }
    if (!work.status.ok()) break;
  }
}

// A run of a length scan. Used by the thread that calls Run; owns the results.
class LengthScan {
 public:
  LengthScan(const Subject& subject, const LengthScanDeps& deps,
             storage::PaidSource* reads)
      : subject_(subject),
        deps_(deps),
        paid_reads_(reads),
        most_bytes_(std::min(deps.budget->limit() / kMemoryPart, kMostBytes)),
        planner_(subject.dataset.get(), subject.field),
        shared_(std::make_shared<Shared>(subject, deps.budget)) {}
  // Makes the remaining tasks end early.
  ~LengthScan() { shared_->Stop(); }
  LengthScan(const LengthScan&) = delete;
  LengthScan& operator=(const LengthScan&) = delete;

  // Measures all samples; see ScanLengths. To be called once.
  absl::StatusOr<ValueSizesParts> Run(const std::stop_token& stop);

 private:
  // Begins reads until kMostReads reads, or most_bytes_ bytes, are in flight.
  absl::Status BeginReads();
  absl::Status Begin(PlannedRead read);
  // If `work` was read, submits a task that measures it. If it was measured,
  // takes its results.
  absl::Status Take(const WorkPtr& work);
  // Takes the sizes of measured work. Where a size is missing, plans a read of
  // the clip's next part. Sets `counted` to the bytes of this work that the
  // scan no longer needs to count.
  absl::Status TakeSizes(Work& work, std::uint64_t* counted);
  // Returns the error of a read; the error names sample and object. Reports a
  // file that has changed.
  absl::Status CheckRead(const Work& work) const;
  void Submit(const WorkPtr& work);

  const Subject& subject_;
  const LengthScanDeps& deps_;
  storage::PaidSource* const paid_reads_;
  const std::uint64_t most_bytes_;
  const ReadPlanner planner_;
  const std::shared_ptr<Shared> shared_;
  std::optional<ValueSizesBuilder> sizes_;
  std::uint64_t planned_ = 0;      // number of samples planned so far
  std::deque<PlannedRead> reads_;  // planned, but not begun
  std::size_t in_flight_ = 0;      // reads that were begun and are not measured
  std::uint64_t bytes_in_flight_ = 0;  // bytes counted for these reads
};

absl::Status LengthScan::BeginReads() {
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
    // A read of more than most_bytes_ bytes begins when no other read is in
    // flight. It could never begin otherwise.
    if (in_flight_ > 0 &&
        bytes > most_bytes_ - std::min(most_bytes_, bytes_in_flight_))
      break;
    PlannedRead read = std::move(reads_.front());
    reads_.pop_front();
    FOREBAY_RETURN_IF_ERROR(Begin(std::move(read)));
  }
  return absl::OkStatus();
}

absl::Status LengthScan::Begin(PlannedRead read) {
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

absl::Status LengthScan::CheckRead(const Work& work) const {
  absl::Status status = work.status;
  const std::uint64_t length = work.read.request.length;
  if (status.ok() && work.bytes.size() >= length) return status;
  if (status.ok()) {
    status = absl::DataLossError(
        absl::StrCat(work.read.request.object, ": a read gave ",
                     work.bytes.size(), " bytes instead of ", length));
  }
  // These errors mean that the index is out of date.
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status))
    deps_.on_changed(*subject_.dataset);
  return sample::AnnotateSampleError(*subject_.dataset,
                                     work.read.wanted.front().sample, status);
}

void LengthScan::Submit(const WorkPtr& work) {
  const auto values = static_cast<std::int64_t>(work->read.wanted.size());
  deps_.executor->SubmitFor(*paid_reads_->payers(),
                            {.cpu_nanos = values * kMeasureNanos, .urgency = 0},
                            [shared = shared_, work](int) {
                              Measure(*shared, *work);
                              work->is_measured = true;
                              shared->Add(work);
                            });
}

absl::Status LengthScan::TakeSizes(Work& work, std::uint64_t* counted) {
  FOREBAY_RETURN_IF_ERROR(work.status);
  *counted = work.counted;
  for (std::size_t i = 0; i < work.read.wanted.size(); ++i) {
    Wanted& wanted = work.read.wanted[i];
    if (!work.sizes[i].has_value()) {
      // This read comes first, since the head's bytes are held until it is
      // done.
      PlannedRead more = planner_.PlanMore(std::move(wanted));
      if (more.wanted.front().part == MeasuredPart::kTail)
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

absl::Status LengthScan::Take(const WorkPtr& work) {
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

absl::StatusOr<ValueSizesParts> LengthScan::Run(const std::stop_token& stop) {
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

absl::StatusOr<ValueSizesParts> ScanLengths(const Subject& subject,
                                            const LengthScanDeps& deps,
                                            const std::stop_token& stop) {
  storage::PaidSource own(deps.source, subject.job);
  return LengthScan(subject, deps,
                    subject.reads == nullptr ? &own : subject.reads)
      .Run(stop);
}

}  // namespace forebay::length_scan
