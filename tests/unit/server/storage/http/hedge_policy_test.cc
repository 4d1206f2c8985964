#include "server/storage/http/hedge_policy.h"

#include <cstdint>
#include <random>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kMillis = 1'000'000;

TEST_CASE("The hedge policy waits long until it knows what is usual",
          "[http][hedge_policy]") {
  HedgePolicy policy;
  CHECK(policy.DelayNanos() == 1000 * kMillis);
  for (int i = 0; i < 19; ++i) policy.OnFirstByte(30 * kMillis);
  CHECK(policy.DelayNanos() == 1000 * kMillis);
  policy.OnFirstByte(30 * kMillis);
  CHECK(policy.DelayNanos() >= 60 * kMillis);
  CHECK(policy.DelayNanos() <= 70 * kMillis);
  CHECK(policy.UsualNanos() >= 30 * kMillis);
  CHECK(policy.UsualNanos() <= 34 * kMillis);
}

TEST_CASE("A few stalls do not change what is usual for the hedge policy",
          "[http][hedge_policy]") {
  HedgePolicy policy;
  for (int i = 0; i < 5000; ++i)
    policy.OnFirstByte(i % 50 == 0 ? 5000 * kMillis : 30 * kMillis);
  CHECK(policy.DelayNanos() <= 70 * kMillis);
}

TEST_CASE("The hedge policy follows a server that gets slower",
          "[http][hedge_policy]") {
  HedgePolicy policy;
  for (int i = 0; i < 2000; ++i) policy.OnFirstByte(30 * kMillis);
  for (int i = 0; i < 1000; ++i) policy.OnFirstByte(300 * kMillis);
  CHECK(policy.DelayNanos() >= 600 * kMillis);
}

TEST_CASE("The hedge policy never waits forever", "[http][hedge_policy]") {
  HedgePolicy policy;
  for (int i = 0; i < 100; ++i) policy.OnFirstByte(INT64_MAX);
  CHECK(policy.DelayNanos() > 0);
  CHECK(policy.DelayNanos() <= 3'600'000 * kMillis);
}

TEST_CASE(
    "The hedge policy lets only a share of all requests be asked a second time",
    "[http][hedge_policy]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    HedgePolicy policy({.share = 0.05, .burst = 8});
    int hedges = 0;
    for (int requests = 1; requests <= 2000; ++requests) {
      policy.OnRequest();
      for (unsigned wanted = random() % 3; wanted > 0; --wanted)
        hedges += policy.TryHedge(0) ? 1 : 0;
      CHECK(hedges <= 8 + requests * 0.05 + 1e-6);
    }
    CHECK(hedges >= 100);
  }
}

TEST_CASE(
    "The hedge policy asks no second time while a server has too much to do",
    "[http][hedge_policy]") {
  HedgePolicy policy({.quiet_nanos = 1000 * kMillis});
  CHECK(policy.TryHedge(0));
  policy.OnBusy(500 * kMillis);
  CHECK_FALSE(policy.TryHedge(500 * kMillis));
  CHECK_FALSE(policy.TryHedge(1500 * kMillis - 1));
  CHECK(policy.TryHedge(1500 * kMillis));
}

}  // namespace
}  // namespace forebay::storage::http
