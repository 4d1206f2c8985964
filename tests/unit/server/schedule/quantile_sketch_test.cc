#include "server/schedule/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace forebay::schedule {
namespace {

TEST(QuantileSketchTest, KnowsNothingAtFirst) {
  const QuantileSketch sketch;
  EXPECT_EQ(sketch.count(), 0u);
  EXPECT_EQ(sketch.Quantile(0.5), 0);
}

TEST(QuantileSketchTest, IsTooLargeByAnEighthAtMost) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
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
      EXPECT_GE(sketch.Quantile(q), exact);
      EXPECT_LE(static_cast<double>(sketch.Quantile(q)),
                static_cast<double>(exact) * 1.125 + 1);
    }
  }
}

TEST(QuantileSketchTest, ForgetsWhatWasLongAgo) {
  QuantileSketch sketch;
  for (int i = 0; i < 10'000; ++i) sketch.Add(1'000'000);
  for (int i = 0; i < 5'000; ++i) sketch.Add(1000);
  EXPECT_LT(sketch.Quantile(0.95), 1200);
}

TEST(QuantileSketchTest, TakesEveryNumber) {
  QuantileSketch sketch;
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    sketch.Add(value);
    EXPECT_EQ(sketch.Quantile(1), std::max<std::int64_t>(value, 0));
  }
}

}  // namespace
}  // namespace forebay::schedule
