#include "server/schedule/quantile_sketch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

TEST_CASE("A quantile sketch knows nothing at first",
          "[schedule][quantile_sketch]") {
  const QuantileSketch sketch;
  CHECK(sketch.count() == 0u);
  CHECK(sketch.Quantile(0.5) == 0);
}

TEST_CASE("A quantile of a sketch is too large by an eighth at most",
          "[schedule][quantile_sketch]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::lognormal_distribution<double> values(seed, 2);
    QuantileSketch sketch;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 1000; ++i) {
      all.push_back(static_cast<std::int64_t>(values(random)));
      sketch.Add(all.back());
    }
    std::sort(all.begin(), all.end());
    for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
      const std::int64_t exact =
          all[static_cast<std::size_t>(std::ceil(q * 1000)) - 1];
      CHECK(sketch.Quantile(q) >= exact);
      CHECK(static_cast<double>(sketch.Quantile(q)) <=
            static_cast<double>(exact) * 1.125 + 1);
    }
  }
}

TEST_CASE("A quantile sketch forgets what was long ago",
          "[schedule][quantile_sketch]") {
  QuantileSketch sketch;
  for (int i = 0; i < 10'000; ++i) sketch.Add(1'000'000);
  for (int i = 0; i < 5'000; ++i) sketch.Add(1000);
  CHECK(sketch.Quantile(0.95) < 1200);
}

TEST_CASE("A quantile sketch takes every number",
          "[schedule][quantile_sketch]") {
  QuantileSketch sketch;
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    sketch.Add(value);
    CHECK(sketch.Quantile(1) == std::max<std::int64_t>(value, 0));
  }
}

}  // namespace
}  // namespace forebay::schedule
