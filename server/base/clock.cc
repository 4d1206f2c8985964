#include "server/base/clock.h"

#include <time.h>

namespace forebay::base {
namespace {

// A clock of the system (clock_gettime(2)).
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

}  // namespace forebay::base
