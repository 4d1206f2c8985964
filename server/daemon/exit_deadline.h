#ifndef FOREBAY_SERVER_DAEMON_EXIT_DEADLINE_H_
#define FOREBAY_SERVER_DAEMON_EXIT_DEADLINE_H_

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::daemon {

// Bounds the time that a process takes to exit. A thread that hangs in the
// kernel can be neither joined nor killed, so destructors that wait for it
// never return.
//
// Thread-safe. A thread of its own ends the process when one step, or all steps
// together, take too long. The caller owns it; destruction ends that thread.
// Calls do not block, except that Expire does not return if `exit` does not.
// Has no errors.
class ExitDeadline {
 public:
  struct Actions {
    // Releases what the process would hold as long as one of its threads hangs,
    // such as locks. Must not block.
    std::function<void()> let_go;
    // Ends the process, without destructors.
    std::function<void()> exit;
  };

  // The longest times of a step, and of all steps together.
  struct Limits {
    std::chrono::nanoseconds step;
    std::chrono::nanoseconds all;
  };

  // Begins the first step.
  ExitDeadline(Actions actions, std::string step, const Limits& limits);
  ~ExitDeadline();

  // Ends the current step and begins another, in which the process waits for
  // `step`.
  void Begin(std::string step);
  // Logs the current step, and ends the process without waiting for the step.
  void Expire();

 private:
  // The body of the thread: waits for the end of the step, and expires.
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
