#include "server/base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace forebay::base {
namespace {

TEST(ClockTest, MonotonicTimeNeverRunsBackwards) {
  const Clock* clock = Clock::Monotonic();
  std::int64_t last = clock->NowNanos();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = clock->NowNanos();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, CpuTimeIsTheThreadsOwn) {
  const Clock* clock = Clock::ThreadCpu();
  const std::int64_t begin = clock->NowNanos();
  while (clock->NowNanos() < begin + 2'000'000) {
  }
  std::int64_t other = 0;
  std::jthread([&] { other = clock->NowNanos(); }).join();
  EXPECT_LT(other, clock->NowNanos());
}

TEST(FakeClockTest, MovesAsTold) {
  FakeClock clock;
  const std::int64_t begin = clock.NowNanos();
  clock.Advance(17);
  EXPECT_EQ(clock.NowNanos(), begin + 17);
}

}  // namespace
}  // namespace forebay::base
