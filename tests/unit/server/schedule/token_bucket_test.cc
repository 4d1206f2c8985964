#include "server/schedule/token_bucket.h"

#include <cstdint>
#include <random>

#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

using Catch::WithinAbs;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("A token bucket lets a burst through and then the rate",
          "[schedule][token_bucket]") {
  TokenBucket bucket(100, 50, 0);
  for (int i = 0; i < 50; ++i) CHECK(bucket.TryTake(1, 0));
  CHECK_FALSE(bucket.TryTake(1, 0));
  CHECK(bucket.ReadyAt(1, 0) == kSecond / 100);
  CHECK_FALSE(bucket.TryTake(1, kSecond / 100 - 1000));
  CHECK(bucket.TryTake(1, kSecond / 100));
}

TEST_CASE("A token bucket saves up no more than a burst",
          "[schedule][token_bucket]") {
  TokenBucket bucket(100, 50, 0);
  CHECK(bucket.TryTake(50, 1000 * kSecond));
  CHECK_FALSE(bucket.TryTake(1, 1000 * kSecond));
}

TEST_CASE("What is larger than a token bucket is paid off afterwards",
          "[schedule][token_bucket]") {
  TokenBucket bucket(100, 50, 0);
  CHECK(bucket.TryTake(250, 0));
  CHECK_THAT(bucket.ReadyAt(250, 0), WithinAbs(2.5 * kSecond, 1000));
  CHECK_FALSE(bucket.TryTake(1, 2 * kSecond - kSecond / 100));
  CHECK(bucket.TryTake(1, 2 * kSecond + kSecond / 100));
}

TEST_CASE("Huge waits of a token bucket do not overflow",
          "[schedule][token_bucket]") {
  TokenBucket bucket(1e-9, 1e9, 0);
  CHECK(bucket.TryTake(1e9, 0));
  CHECK(bucket.ReadyAt(1e9, 0) == INT64_MAX);
}

TEST_CASE("A taker that comes back when the token bucket is ready may pass",
          "[schedule][token_bucket]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  TokenBucket bucket(12'345.678, 1000, 0);
  std::int64_t now = 0;
  double taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double amount = 1 + random() % 3000;
    const std::int64_t ready = bucket.ReadyAt(amount, now);
    REQUIRE(ready >= now);
    now = ready;
    REQUIRE(bucket.TryTake(amount, now));
    taken += amount;
  }
  CHECK_THAT(taken / (now * 1e-9), WithinAbs(12'345.678, 1));
}

TEST_CASE("Reservations of a token bucket queue up",
          "[schedule][token_bucket]") {
  TokenBucket bucket(10, 2, 0);
  CHECK(bucket.Reserve(1, 0) == 0);
  CHECK(bucket.Reserve(1, 0) == 0);
  CHECK_THAT(bucket.Reserve(1, 0), WithinAbs(100'000'000, 2));
  CHECK_THAT(bucket.Reserve(1, 0), WithinAbs(200'000'000, 2));
  CHECK_FALSE(bucket.TryTake(1, 200'000'000));
  CHECK_THAT(bucket.ReadyAt(1, 200'000'000), WithinAbs(300'000'000, 2));
}

}  // namespace
}  // namespace forebay::schedule
