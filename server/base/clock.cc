#include "server/base/clock.h"

#include <time.h>

namespace forebay::base {
namespace {

class MonotonicClock final : public Clock {
 public:
  std::int64_t NowNanos() const override {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }
};

}  // namespace

const Clock* Clock::Monotonic() {
  static const MonotonicClock clock;
  return &clock;
}

}  // namespace forebay::base
