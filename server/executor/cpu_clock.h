#ifndef FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_
#define FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_

#include <pthread.h>

#include <cstdint>

namespace forebay::executor {

// Tells the CPU time that a thread has used so far, in nanoseconds.
//
// Thread-safe. The caller owns it. Never blocks: each call is one system call.
// No errors.
class CpuClock {
 public:
  virtual ~CpuClock() = default;

  // Returns the CPU time of the calling thread, in nanoseconds.
  virtual std::int64_t OfCaller() const = 0;
  // Returns the CPU time of a thread of this process, in nanoseconds. The
  // thread must not have been joined.
  virtual std::int64_t Of(pthread_t thread) const = 0;

  // Returns the clock that asks the kernel. The clock lives as long as the
  // process.
  static const CpuClock* Kernel();
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_CPU_CLOCK_H_
