#include "server/base/clock.h"

#include <time.h>

namespace forebay::base {
namespace {

class SystemClock final : public Clock {
 public:
  explicit SystemClock(clockid_t id) : id_(id) {}

  std::int64_t NowNanos() const override {
    struct timespec now;
    clock_gettime(id_, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }

 private:
  const clockid_t id_;
};

}  // namespace

const Clock* Clock::Monotonic() {
  static const SystemClock clock(CLOCK_MONOTONIC);
  return &clock;
}

const Clock* Clock::Wall() {
  static const SystemClock clock(CLOCK_REALTIME);
  return &clock;
}

const Clock* Clock::ThreadCpu() {
  static const SystemClock clock(CLOCK_THREAD_CPUTIME_ID);
  return &clock;
}

std::int64_t ProcessCpuNanos(pid_t pid) {
  clockid_t clock;
  struct timespec time;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 ||
      clock_gettime(clock, &time) != 0)
    return -1;
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace forebay::base
