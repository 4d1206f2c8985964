#include "server/executor/cpu_clock.h"

#include <time.h>

#include "server/base/check.h"
#include "server/base/clock.h"

namespace forebay::executor {
namespace {

class KernelCpuClock final : public CpuClock {
 public:
  std::int64_t OfCaller() const override {
    return base::Clock::ThreadCpu()->NowNanos();
  }
  std::int64_t Of(pthread_t thread) const override {
    clockid_t clock;
    struct timespec now;
    FOREBAY_CHECK(pthread_getcpuclockid(thread, &clock) == 0 &&
                  clock_gettime(clock, &now) == 0);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }
};

}  // namespace

const CpuClock* CpuClock::Kernel() {
  static const KernelCpuClock clock;
  return &clock;
}

}  // namespace forebay::executor
