// Compares the cache with Belady's algorithm. This is a shorter form of
// tests/bench/cache/hit_ratio.

#include "tests/catch/catch.h"
#include "tests/unit/server/cache/simulation.h"

namespace forebay::cache {
namespace {

using Catch::WithinAbs;

Plan Loaders(const std::vector<std::int64_t>& periods_nanos, double fraction) {
  Plan plan;
  plan.samples = 2'000;
  plan.epochs = 2;
  plan.fraction = fraction;
  for (const std::int64_t period : periods_nanos) {
    plan.loaders.push_back(
        {.seed = plan.loaders.size(), .period_nanos = period});
  }
  return plan;
}

void ExpectNearlyClairvoyant(const HitRatios& ratios) {
  CHECK(ratios.ours >= 0.95 * ratios.clairvoyant);
  CHECK(ratios.ours >= ratios.clairvoyant - 0.02);
  CHECK(ratios.ours > ratios.lru);
}

TEST_CASE(
    "The cache keeps what fits for a lone loader nearly as Belady's algorithm "
    "does",
    "[cache][hit_ratio]") {
  const HitRatios ratios = Simulate(Loaders({1'000'000}, 0.25));
  CHECK_THAT(ratios.clairvoyant, WithinAbs(0.25, 0.001));
  ExpectNearlyClairvoyant(ratios);
}

TEST_CASE("Several loaders find in the cache what another loader reads",
          "[cache][hit_ratio]") {
  ExpectNearlyClairvoyant(Simulate(Loaders({1'000'000, 1'000'000}, 0.10)));
  ExpectNearlyClairvoyant(Simulate(Loaders({1'000'000, 1'000'000}, 0.50)));
  ExpectNearlyClairvoyant(
      Simulate(Loaders({500'000, 700'000, 1'100'000, 1'900'000}, 0.25)));
}

TEST_CASE("A dataset that fits the cache is read once", "[cache][hit_ratio]") {
  const HitRatios ratios = Simulate(Loaders({700'000, 1'000'000}, 1));
  CHECK(ratios.bytes_read == ratios.bytes);
  CHECK(ratios.ours == 1);
}

}  // namespace
}  // namespace forebay::cache
