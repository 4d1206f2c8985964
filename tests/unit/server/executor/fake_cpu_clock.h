#ifndef FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_FAKE_CPU_CLOCK_H_
#define FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_FAKE_CPU_CLOCK_H_

#include <pthread.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "server/executor/cpu_clock.h"

namespace forebay::executor {

// A clock of CPU time that advances only when the test says so.
class FakeCpuClock final : public CpuClock {
 public:
  std::int64_t OfCaller() const override { return Of(pthread_self()); }
  std::int64_t Of(pthread_t thread) const override {
    const std::lock_guard lock(mutex_);
    if (thread != pthread_self()) ++looks_;
    const auto found = nanos_.find(thread);
    return found == nanos_.end() ? 0 : found->second;
  }

  // Adds CPU time to that of the calling thread.
  void Advance(std::int64_t nanos) { AdvanceOf(pthread_self(), nanos); }
  void AdvanceOf(pthread_t thread, std::int64_t nanos) {
    const std::lock_guard lock(mutex_);
    nanos_[thread] += nanos;
  }
  // Returns how often any thread has asked for the time of another thread.
  int looks() const {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

 private:
  mutable std::mutex mutex_;
  mutable int looks_ = 0;
  std::map<pthread_t, std::int64_t> nanos_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_TESTS_UNIT_SERVER_EXECUTOR_FAKE_CPU_CLOCK_H_
