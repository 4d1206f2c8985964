#include "server/base/alarm.h"

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <semaphore>

#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

std::int64_t Now() { return Clock::Monotonic()->NowNanos(); }

TEST_CASE("An alarm rings when it is time and once", "[base][alarm]") {
  std::counting_semaphore<100> rings(0);
  std::atomic<std::int64_t> rang_at = 0;
  Alarm alarm("forebay-alarm", [&] {
    rang_at = Now();
    rings.release();
  });
  for (const std::int64_t wait : {0, 1, 1'000'000, 20'000'000}) {
    const std::int64_t at = Now() + wait;
    alarm.SetFor(at);
    rings.acquire();
    CHECK(rang_at >= at);
  }
  CHECK_FALSE(rings.try_acquire());
}

TEST_CASE("An alarm's time may be set sooner and later", "[base][alarm]") {
  std::counting_semaphore<100> rings(0);
  Alarm alarm("forebay-alarm", [&] { rings.release(); });
  alarm.SetFor(Now() + INT64_C(3'600'000'000'000));
  alarm.SetFor(Now());
  rings.acquire();
  alarm.SetFor(INT64_MAX);
  const std::int64_t later = Now() + 30'000'000;
  alarm.SetFor(Now() + 20'000'000);
  alarm.SetFor(later);
  rings.acquire();
  CHECK(Now() >= later);
}

TEST_CASE("The callback of an alarm may set it again", "[base][alarm]") {
  std::latch done(50);
  std::unique_ptr<Alarm> alarm;
  std::latch made(1);
  alarm = std::make_unique<Alarm>("forebay-alarm", [&] {
    made.wait();
    if (!done.try_wait()) {
      done.count_down();
      alarm->SetFor(Now());
    }
  });
  made.count_down();
  alarm->SetFor(Now());
  done.wait();
  alarm->SetFor(INT64_MAX);
  CHECK(done.try_wait());
}

TEST_CASE("An alarm never rings once it is gone", "[base][alarm]") {
  std::atomic<int> rings = 0;
  for (int i = 0; i < 200; ++i) {
    auto gone = std::make_unique<bool>(false);
    {
      Alarm alarm("forebay-alarm", [&] { rings += *gone ? 1000 : 1; });
      alarm.SetFor(Now());
    }
    *gone = true;
  }
  CHECK(rings <= 200);
}

TEST_CASE("An alarm that is set tries again to start a refused thread",
          "[base][alarm]") {
  std::binary_semaphore rang(0);
  std::unique_ptr<Alarm> alarm;
  {
    const NoThreads refused;
    alarm = std::make_unique<Alarm>("forebay-alarm", [&] { rang.release(); });
    CHECK_FALSE(alarm->has_thread());
    CHECK_FALSE(alarm->SetFor(Now()));
  }
  CHECK(alarm->SetFor(Now()));
  CHECK(alarm->has_thread());
  rang.acquire();
}

}  // namespace
}  // namespace forebay::base
