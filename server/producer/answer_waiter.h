#ifndef FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_
#define FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/producer/producer_set.h"
#include "server/producer/task_socket.h"

namespace forebay::producer {

// Waits for the answers of producers that sleep or read, so that no CPU worker
// does. One thread, forebay-answers.
//
// Thread-safe. Owns the producers that it waits for. Destruction drops what it
// waits for, and waits for a callback that runs. Wait does not block; callbacks
// run on the thread. No errors: callbacks get TaskSocket's.
class AnswerWaiter {
 public:
  using Done = std::function<void(std::shared_ptr<Producer> producer,
                                  absl::StatusOr<Answer> answer)>;

  AnswerWaiter();
  ~AnswerWaiter();

  // Calls `done` when the producer has answered, or is gone.
  void Wait(std::shared_ptr<Producer> producer, Done done);

 private:
  struct Waiting {
    std::shared_ptr<Producer> producer;
    Done done;
  };

  void Run();
  // Polls all that is waited for; returns what has something to read.
  std::vector<Waiting> TakeReady(std::vector<Waiting>& waiting) const;

  base::Mutex mutex_;
  std::vector<Waiting> added_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // An eventfd. Made at the start, when there are descriptors.
  const base::Fd wake_;
  std::thread thread_;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_ANSWER_WAITER_H_
