#ifndef FOREBAY_SERVER_PRODUCER_MEMORY_WATCH_H_
#define FOREBAY_SERVER_PRODUCER_MEMORY_WATCH_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/producer/memory_limiter.h"
#include "server/producer/process.h"

namespace forebay::producer {

// A limiter, and the thread that has it look: forebay-memory, from the first
// producer on, which sleeps while there are none. Thread-safe. Owned by the
// daemon. Add does not block. No errors.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::uint64_t limit) : limiter_(limit, clock_) {}
  ~MemoryWatch();

  // As MemoryLimiter::Add.
  std::shared_ptr<const LimitedProducer> Add(std::shared_ptr<MemoryGroup> group,
                                             std::unique_ptr<Process> process);
  MemorySnapshot snapshot() const { return limiter_.snapshot(); }

 private:
  void Check();

  const base::Clock* const clock_ = base::Clock::Monotonic();
  MemoryLimiter limiter_;
  base::Mutex mutex_;
  bool added_ ABSL_GUARDED_BY(mutex_) = false;  // since Check began
  std::unique_ptr<base::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_MEMORY_WATCH_H_
