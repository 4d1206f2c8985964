#ifndef FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_
#define FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_

#include <pthread.h>

#include <cstdint>

namespace forebay::executor {

// Tells the CPU time of threads, in nanoseconds. Thread-safe; never blocks; the
// caller owns it. No errors.
class CpuClock {
 public:
  virtual ~CpuClock() = default;

  // Returns the CPU time of the calling thread.
  virtual std::int64_t OfCaller() const = 0;
  // Returns the CPU time of a thread that has not ended.
  virtual std::int64_t Of(pthread_t thread) const = 0;

  // Returns the kernel's clock, which lives as long as the process.
  static const CpuClock* Kernel();
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_
