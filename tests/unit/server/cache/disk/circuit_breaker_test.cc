#include "server/cache/disk/circuit_breaker.h"

#include "tests/catch/catch.h"

namespace forebay::cache::disk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("A circuit breaker's opening lasts twice as long each time",
          "[disk][circuit_breaker]") {
  CircuitBreaker breaker(0);
  std::int64_t now = 0;
  CHECK_FALSE(breaker.IsOpen(now));
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    CHECK(breaker.RecordFailure(now));
    // The call that fails here began before the breaker opened.
    CHECK_FALSE(breaker.RecordFailure(now));
    CHECK(breaker.SecondsLeft(now) == seconds);
    CHECK(breaker.IsOpen(now + seconds * kSecond - 1));
    CHECK(breaker.SecondsLeft(now + seconds * kSecond - 1) == 1);
    now += seconds * kSecond;
    CHECK_FALSE(breaker.IsOpen(now));
    CHECK(breaker.SecondsLeft(now) == 0);
  }
  breaker.RecordSuccess();
  CHECK(breaker.RecordFailure(now));
  CHECK_FALSE(breaker.IsOpen(now + kSecond));
}

TEST_CASE("A circuit breaker bears a few failures", "[disk][circuit_breaker]") {
  CircuitBreaker breaker(2);
  CHECK_FALSE(breaker.RecordFailure(0));
  CHECK_FALSE(breaker.RecordFailure(0));
  breaker.RecordSuccess();
  CHECK_FALSE(breaker.RecordFailure(0));
  CHECK_FALSE(breaker.RecordFailure(0));
  CHECK(breaker.RecordFailure(0));
  CHECK(breaker.IsOpen(kSecond - 1));
  CHECK_FALSE(breaker.IsOpen(kSecond));
}

}  // namespace
}  // namespace forebay::cache::disk
