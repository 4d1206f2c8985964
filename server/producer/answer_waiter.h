#ifndef FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_
#define FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_

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
#include "server/producer/task_socket.h"

namespace forebay::producer {

// Waits for the sockets of all hosts and producers, so that no other thread
// does: a process may be stopped for hours. One thread, forebay-answers.
//
// Thread-safe. Owns the callbacks, and with them what they hold. Destruction
// waits for a callback that runs, and drops all others. No method blocks;
// callbacks run on the thread, and must not block either. No errors: callbacks
// get TaskSocket's.
class AnswerWaiter {
 public:
  using Done = std::function<void(absl::StatusOr<Answer> answer)>;
  // Returns whether the descriptor needs no more watching.
  using Ready = std::function<bool()>;

  // The clock outlives the waiter.
  explicit AnswerWaiter(const base::Clock* clock = base::Clock::Monotonic());
  ~AnswerWaiter();

  // Calls `done` when the process has answered, or is gone.
  void Wait(std::shared_ptr<TaskSocket> socket, Done done);
  // Calls `ready` whenever there is something to read from `fd`, or its peer is
  // gone, until `ready` returns true. `ready` keeps the descriptor open.
  void Watch(int fd, Ready ready);
  // Calls `work` soon.
  void Post(std::function<void()> work);
  // Calls `work` so many nanoseconds later.
  void PostAfter(std::int64_t nanos, std::function<void()> work);

 private:
  struct Watched {
    int fd;
    Ready ready;
  };

  void Run();
  // Takes the work that is due. Returns the milliseconds until more may be, or
  // -1 if none waits for its time.
  int TakeDueLocked(std::vector<std::function<void()>>& due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Polls all that is watched; returns what has something to read.
  std::vector<Watched> TakeReady(std::vector<Watched>& watched,
                                 int milliseconds) const;

  const base::Clock* const clock_;
  base::Mutex mutex_;
  std::vector<Watched> added_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  // By the time that each is due.
  std::multimap<std::int64_t, std::function<void()>> timed_
      ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // An eventfd. Made at the start, when there are descriptors.
  const base::Fd wake_;
  std::thread thread_;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_
