#ifndef FOREBAY_SERVER_WORKER_ANSWER_WAITER_H_
#define FOREBAY_SERVER_WORKER_ANSWER_WAITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/worker/task_socket.h"

namespace forebay::worker {

// Waits for the answers of all worker pools and workers, on a single thread,
// forebay-answers. No other thread then has to wait for a process, which may be
// stopped for hours.
//
// Thread-safe. Owns the callbacks and their captures. Destruction waits for a
// callback that runs, and drops all others. No method blocks. Callbacks run on
// forebay-answers, and must not block either. No errors; callbacks get those of
// TaskSocket.
class AnswerWaiter {
 public:
  // Receives the answer of a process, or the error of TaskSocket::Await.
  using Done = std::function<void(absl::StatusOr<TaskAnswer> answer)>;
  // Handles a readable descriptor. Returns whether to stop watching it.
  using Ready = std::function<bool()>;

  // Starts the thread. The clock must outlive the waiter.
  explicit AnswerWaiter(const base::Clock* clock = base::Clock::Monotonic());
  ~AnswerWaiter();

  // Calls `done` once, when the process has answered or is gone.
  void Wait(std::shared_ptr<TaskSocket> socket, Done done);
  // Calls `ready` whenever there is something to read from `fd`, or its peer is
  // gone, until `ready` returns true. `ready` keeps the descriptor open.
  void Watch(int fd, Ready ready);
  // Calls `work` once, on forebay-answers, as soon as that thread is free.
  void Post(std::function<void()> work);
  // Calls `work` once, on forebay-answers, `nanos` nanoseconds from now.
  void PostAfter(std::int64_t nanos, std::function<void()> work);

 private:
  struct Watched {
    int fd;
    Ready ready;
  };

  // The body of the thread.
  void Run();
  // Moves timed work that is due to the list `due`. Returns the milliseconds
  // until further work may be due, or -1 if there is no other timed work.
  int TakeDueLocked(std::vector<std::function<void()>>& due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Polls the descriptors of `watched` for `milliseconds` (-1: without end).
  // Removes and returns the descriptors that have something to read.
  std::vector<Watched> TakeReady(std::vector<Watched>& watched,
                                 int milliseconds) const;

  const base::Clock* const clock_;
  base::Mutex mutex_;
  std::vector<Watched> added_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  // The work that PostAfter has added, by the time at which it is due.
  std::multimap<std::int64_t, std::function<void()>> timed_
      ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // An eventfd that ends a poll. The constructor opens the eventfd, so Post
  // never fails for lack of descriptors.
  const base::Fd wake_;
  std::thread thread_;
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_ANSWER_WAITER_H_
