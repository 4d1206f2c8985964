// Copies batches to a GPU in pieces of 8 MiB.
//
// Start cuts a copy into pieces, and puts them into a fair queue, which charges
// the copy's payers. The thread keeps two pieces in flight on the GPU's stream.
// The thread waits for the older piece, and then starts the next one. A copy is
// done when its last piece is done. After an error, the copy's other pieces are
// popped from the queue but not started.
//
// A driver call may hang for ever. The owner calls Expire every now and then.
// Expire notices a piece that does not end, fails all copies and marks the GPU
// as lost. Stop then leaves the thread in its call; the thread shares the
// ownership of the state (Work) that it uses.

#include "server/device/copy_queue.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/schedule/shared_queue.h"

namespace forebay::device {
namespace {

// The most pieces in flight. With two pieces, the copy engine has the next
// piece when one ends, and an urgent copy waits for at most two pieces.
constexpr std::size_t kMaxInFlight = 2;

// Number of calls of Expire in a row that must find a piece overdue. If this
// process stood still for long, the first call may find a piece overdue that
// has in fact ended.
constexpr int kOverdueCalls = 3;

// A copy whose last piece is not done yet.
struct Pending {
  Copy copy;
  // Bytes of the copy's pieces that are not done.
  std::uint64_t left = 0;
  absl::Status status;
};

// A copy that has ended. Its `done` is called once the mutex is released.
struct Ended {
  std::function<void(const absl::Status&)> done;
  absl::Status status;
};

// A part of a copy.
struct Piece {
  std::shared_ptr<Pending> of;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

// The state that the queue and its thread share. Thread-safe.
class CopyQueue::Work {
 public:
  Work(std::shared_ptr<cuda::Gpu> gpu, const base::Clock* clock)
      : gpu_(std::move(gpu)), clock_(clock) {}

  // Implements Copier::Start.
  absl::Status Start(Copy copy);
  // The thread's function: copies until End is called and the queue is empty.
  void Run();
  // Fails all copies with CANCELLED, and lets the thread leave Run.
  void End();
  void Expire(std::int64_t limit_nanos);
  void Lose(const absl::Status& why);
  // Waits until the thread has left Run. Returns false if Expire has found that
  // the thread hangs in a call, or if `patience` has passed.
  bool AwaitEnd(std::chrono::nanoseconds patience);

  absl::Status health() const {
    base::MutexLock lock(&mutex_);
    return health_;
  }
  CopyCounters counters() const {
    base::MutexLock lock(&mutex_);
    return counters_;
  }
  void SetWeight(schedule::Flow flow, double weight) {
    base::MutexLock lock(&mutex_);
    queue_.SetWeight(flow, weight);
  }
  void Forget(schedule::Flow flow) {
    base::MutexLock lock(&mutex_);
    queue_.Forget(flow);
  }

 private:
  using Queue = schedule::SharedQueue<Piece>;
  // A piece between its start and its end.
  struct InFlight {
    Queue::Popped popped;
    // The number that Gpu::StartCopy returned; 0 if the piece was not started.
    std::uint64_t number = 0;
    // Outcome of Gpu::StartCopy.
    absl::Status status;
  };

  // Returns the next piece. If the queue is empty, returns nullopt; with
  // `wait`, first waits for a piece or for End.
  std::optional<InFlight> Next(bool wait);
  // Starts a piece on the GPU, unless its copy has failed already.
  void Begin(InFlight* piece);
  // Notes a piece's outcome. If this was the copy's last piece, calls the
  // copy's `done`.
  void Finish(const InFlight& piece, const absl::Status& status);
  // Fails all copies that are not done, and returns them. DATA_LOSS also marks
  // the GPU as lost.
  std::vector<Ended> FailAllLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `done` of each copy. The caller does not hold the mutex, because
  // `done` may call the copier.
  static void Tell(const std::vector<Ended>& ended);

  const std::shared_ptr<cuda::Gpu> gpu_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  base::CondVar work_or_end_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Pending>> pending_ ABSL_GUARDED_BY(mutex_);
  // Time since when the oldest piece in flight has been the oldest; 0 if no
  // piece is in flight.
  std::int64_t oldest_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  CopyCounters counters_ ABSL_GUARDED_BY(mutex_);
  // Number of calls of Expire in a row that have found the oldest piece
  // overdue.
  int overdue_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether Expire has given the GPU up.
  bool expired_ ABSL_GUARDED_BY(mutex_) = false;
  base::CondVar left_changed_;
  // Whether the thread has left Run.
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether End was called.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status CopyQueue::Work::Start(Copy copy) {
  const auto pending = std::make_shared<Pending>();
  pending->copy = std::move(copy);
  const std::uint64_t bytes = pending->left = pending->copy.bytes;
  base::MutexLock lock(&mutex_);
  if (!health_.ok()) return health_;
  if (ending_) return absl::CancelledError("the GPU is being closed");
  pending_.push_back(pending);
  counters_.waiting_bytes += bytes;
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const std::uint64_t length = std::min(kPieceBytes, bytes - at);
    queue_.PushFor(pending->copy.payers,
                   {.cost = static_cast<std::int64_t>(length)},
                   pending->copy.urgency, {pending, at, length});
  }
  work_or_end_.NotifyOne();
  return absl::OkStatus();
}

std::optional<CopyQueue::Work::InFlight> CopyQueue::Work::Next(bool wait) {
  base::MutexLock lock(&mutex_);
  for (;;) {
    if (auto popped = queue_.Pop(clock_->NowNanos()); popped.has_value()) {
      if (oldest_nanos_ == 0) oldest_nanos_ = clock_->NowNanos();
      return InFlight{.popped = *std::move(popped), .status = {}};
    }
    if (!wait || ending_) return std::nullopt;
    work_or_end_.Wait(&mutex_);
  }
}

void CopyQueue::Work::Begin(InFlight* piece) {
  const Piece& item = piece->popped.item;
  const Copy& copy = item.of->copy;
  {
    base::MutexLock lock(&mutex_);
    // A copy that has failed needs no further pieces.
    piece->status = item.of->status;
  }
  if (!piece->status.ok()) return;
  const auto number = gpu_->StartCopy(
      *copy.to, item.offset, copy.from->data() + item.offset, item.bytes);
  piece->status = number.status();
  if (number.ok()) piece->number = *number;
}

void CopyQueue::Work::Run() {
  std::deque<InFlight> in_flight;
  for (;;) {
    while (in_flight.size() < kMaxInFlight) {
      auto next = Next(/*wait=*/in_flight.empty());
      if (!next.has_value()) break;
      Begin(&*next);
      in_flight.push_back(*std::move(next));
    }
    if (in_flight.empty()) break;
    const InFlight oldest = std::move(in_flight.front());
    in_flight.pop_front();
    const absl::Status status =
        oldest.number == 0 ? oldest.status : gpu_->Wait(oldest.number);
    {
      base::MutexLock lock(&mutex_);
      oldest_nanos_ = in_flight.empty() ? 0 : clock_->NowNanos();
      overdue_ = 0;
    }
    Finish(oldest, status);
  }
  base::MutexLock lock(&mutex_);
  left_ = true;
  left_changed_.NotifyAll();
}

bool CopyQueue::Work::AwaitEnd(std::chrono::nanoseconds patience) {
  base::MutexLock lock(&mutex_);
  while (!left_) {
    if (expired_ && oldest_nanos_ != 0) return false;
    if (!left_changed_.WaitFor(&mutex_, patience)) return left_;
  }
  return true;
}

void CopyQueue::Work::Finish(const InFlight& piece,
                             const absl::Status& status) {
  const std::shared_ptr<Pending>& of = piece.popped.item.of;
  std::vector<Ended> ended;
  {
    // Destroying staging memory may wait for a worker, which must not happen
    // under the lock. `copied` therefore holds the memory until the lock is
    // released. The batch holds the memory as well, so `copied` is not the last
    // reference.
    std::shared_ptr<const StagingMemory> copied;
    base::MutexLock lock(&mutex_);
    const std::uint64_t bytes = piece.popped.item.bytes;
    queue_.Complete(piece.popped.id, {.cost = static_cast<std::int64_t>(bytes)},
                    clock_->NowNanos());
    of->left -= bytes;
    of->status.Update(status);
    if (status.ok()) counters_.bytes += bytes;
    const auto found = std::find(pending_.begin(), pending_.end(), of);
    if (of->left == 0) copied = std::move(of->copy.from);
    if (of->left == 0 && found != pending_.end()) {
      counters_.copies += of->status.ok();
      counters_.waiting_bytes -= of->copy.bytes;
      ended.push_back({std::move(of->copy.done), of->status});
      pending_.erase(found);
    }
    if (absl::IsDataLoss(status)) {
      std::vector<Ended> others = FailAllLocked(status);
      std::move(others.begin(), others.end(), std::back_inserter(ended));
    }
  }
  Tell(ended);
}

std::vector<Ended> CopyQueue::Work::FailAllLocked(const absl::Status& why) {
  if (absl::IsDataLoss(why)) health_.Update(why);
  std::vector<Ended> ended;
  for (const std::shared_ptr<Pending>& pending : std::exchange(pending_, {})) {
    pending->status.Update(why);
    ended.push_back({std::move(pending->copy.done), pending->status});
  }
  counters_.waiting_bytes = 0;
  return ended;
}

void CopyQueue::Work::Tell(const std::vector<Ended>& ended) {
  for (const Ended& one : ended) one.done(one.status);
}

void CopyQueue::Work::Expire(std::int64_t limit_nanos) {
  std::vector<Ended> ended;
  {
    base::MutexLock lock(&mutex_);
    const std::int64_t taken = clock_->NowNanos() - oldest_nanos_;
    const bool overdue = oldest_nanos_ != 0 && taken >= limit_nanos;
    overdue_ = overdue ? overdue_ + 1 : 0;
    if (overdue_ < kOverdueCalls || expired_) return;
    expired_ = true;
    ended = FailAllLocked(absl::DataLossError(absl::StrCat(
        "a copy to the GPU has not ended for ", taken / 1'000'000'000, " s")));
  }
  Tell(ended);
}

void CopyQueue::Work::Lose(const absl::Status& why) {
  std::vector<Ended> ended;
  {
    base::MutexLock lock(&mutex_);
    if (health_.ok()) ended = FailAllLocked(why);
  }
  Tell(ended);
}

void CopyQueue::Work::End() {
  std::vector<Ended> ended;
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
    ended = FailAllLocked(absl::CancelledError("the daemon is shutting down"));
    work_or_end_.NotifyOne();
  }
  Tell(ended);
}

CopyQueue::CopyQueue(std::shared_ptr<cuda::Gpu> gpu, const base::Clock* clock,
                     std::chrono::nanoseconds patience)
    : work_(std::make_shared<Work>(std::move(gpu), clock)),
      patience_(patience),
      thread_([work = work_] { work->Run(); }) {
  pthread_setname_np(thread_.native_handle(), "forebay-copy");
}

CopyQueue::~CopyQueue() { Stop(); }

void CopyQueue::Stop() {
  work_->End();
  if (!thread_.joinable()) return;
  // A thread that hangs in a call cannot be joined. Nor can the copy thread
  // join itself: it runs this function if a copy's `done` drops the last
  // reference to the Device.
  if (thread_.get_id() == std::this_thread::get_id() ||
      !work_->AwaitEnd(patience_)) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

absl::Status CopyQueue::Start(Copy copy) {
  return work_->Start(std::move(copy));
}

void CopyQueue::Expire(std::int64_t limit_nanos) { work_->Expire(limit_nanos); }

void CopyQueue::Lose(const absl::Status& why) { work_->Lose(why); }

absl::Status CopyQueue::health() const { return work_->health(); }

void CopyQueue::SetWeight(schedule::Flow flow, double weight) {
  work_->SetWeight(flow, weight);
}

void CopyQueue::Forget(schedule::Flow flow) { work_->Forget(flow); }

CopyCounters CopyQueue::counters() const { return work_->counters(); }

}  // namespace forebay::device
