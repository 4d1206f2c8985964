#ifndef FOREBAY_SERVER_DAEMON_EXIT_DEADLINE_H_
#define FOREBAY_SERVER_DAEMON_EXIT_DEADLINE_H_

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::daemon {

// Bounds the time that a process takes to leave. A thread that hangs in the
// kernel cannot be joined, nor killed: destructors that wait for it never
// return.
//
// Thread-safe; the caller owns it. Has a thread of its own, which ends the
// process when a step, or all together, take too long. Destruction ends that
// thread. Calls do not block, except that Expire does not return if `exit` does
// not. No errors.
class ExitDeadline {
 public:
  struct Actions {
    // Lets go of what the process would keep while a thread of it hangs. Must
    // not block.
    std::function<void()> let_go;
    // Ends the process, without destructors.
    std::function<void()> exit;
  };

  // The longest times: of a step, and of all together.
  struct Limits {
    std::chrono::nanoseconds step;
    std::chrono::nanoseconds all;
  };

  // Begins the first step.
  ExitDeadline(Actions actions, std::string step, const Limits& limits);
  ~ExitDeadline();

  // Begins another step; `step` says what the process waits for in it.
  void Begin(std::string step);
  // Ends the process now, and logs that it does not wait for the step.
  void Expire();

 private:
  void Watch();

  const Actions actions_;
  const std::chrono::nanoseconds longest_step_;
  const std::int64_t last_nanos_;  // the end of all steps; monotonic
  base::Mutex mutex_;
  base::CondVar changed_;
  std::string step_ ABSL_GUARDED_BY(mutex_);
  std::int64_t end_nanos_ ABSL_GUARDED_BY(mutex_);  // of the step; monotonic
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_EXIT_DEADLINE_H_
