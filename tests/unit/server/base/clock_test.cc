#include "server/base/clock.h"

#include <thread>

#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

TEST_CASE("Monotonic time of the clock never runs backwards", "[base][clock]") {
  const Clock* clock = Clock::Monotonic();
  std::int64_t last = clock->NowNanos();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = clock->NowNanos();
    CHECK(now >= last);
    last = now;
  }
}

TEST_CASE("CPU time of the clock is the thread's own", "[base][clock]") {
  const Clock* clock = Clock::ThreadCpu();
  const std::int64_t begin = clock->NowNanos();
  while (clock->NowNanos() < begin + 2'000'000) {
  }
  std::int64_t other = 0;
  std::jthread([&] { other = clock->NowNanos(); }).join();
  CHECK(other < clock->NowNanos());
}

TEST_CASE("A fake clock moves as told", "[base][clock]") {
  FakeClock clock;
  const std::int64_t begin = clock.NowNanos();
  clock.Advance(17);
  CHECK(clock.NowNanos() == begin + 17);
}

}  // namespace
}  // namespace forebay::base
