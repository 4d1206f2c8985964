#ifndef FOREBAY_SERVER_WORKER_MEMORY_WATCH_H_
#define FOREBAY_SERVER_WORKER_MEMORY_WATCH_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/worker/memory_limiter.h"
#include "server/worker/worker_process.h"

namespace forebay::worker {

// A MemoryLimiter, and the thread forebay-memory, which calls
// MemoryLimiter::Check. The thread starts with the first worker, and sleeps
// while there are no workers.
//
// Thread-safe. Owned by the daemon. Add does not block. No errors.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::uint64_t limit) : limiter_(limit, clock_) {}
  ~MemoryWatch();

  // Adds a process to the limiter (MemoryLimiter::Add), and schedules a check
  // at once.
  std::shared_ptr<const LimitedWorker> Add(std::shared_ptr<MemoryGroup> group,
                                           std::unique_ptr<Process> process);
  MemorySnapshot snapshot() const { return limiter_.snapshot(); }

 private:
  // Calls the limiter's Check, and sets the time of the next check.
  void Check();

  const base::Clock* const clock_ = base::Clock::Monotonic();
  MemoryLimiter limiter_;
  base::Mutex mutex_;
  // Whether a worker was added since Check began. Add has then set the alarm
  // already.
  bool added_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<base::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_MEMORY_WATCH_H_
