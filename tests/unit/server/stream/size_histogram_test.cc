#include "server/stream/size_histogram.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::stream {
namespace {

class SizeHistogramTest : public testing::TestWithParam<unsigned> {};

TEST_P(SizeHistogramTest, BoundsSumsWithinASixteenth) {
  std::mt19937_64 random(GetParam());
  std::vector<std::uint64_t> sizes(1 + random() % 300);
  SizeHistogram histogram;
  for (std::uint64_t& size : sizes) {
    size = random() >> (20 + random() % 44);
    histogram.Add(size);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  EXPECT_EQ(histogram.count(), sizes.size());
  EXPECT_EQ(histogram.largest(), sizes.front());
  EXPECT_EQ(histogram.sum(),
            std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
  std::uint64_t largest = 0;
  for (std::size_t many = 0; many <= sizes.size(); ++many) {
    const std::uint64_t bound = histogram.SumOfLargest(many);
    EXPECT_GE(bound, largest);
    EXPECT_LE(bound, largest + largest / 16 + 1);
    if (many < sizes.size()) largest += sizes[many];
  }
  std::uint64_t smallest = 0;
  for (std::size_t many = 1; many <= sizes.size(); ++many) {
    smallest += sizes[sizes.size() - many];
    EXPECT_GE(histogram.MostWithin(smallest), many);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SizeHistogramTest, testing::Range(0U, 40U));

TEST(SizeHistogramTest, TakesTheLargestSizesThereAre) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  SizeHistogram histogram;
  histogram.Add(kMost);
  histogram.Add(kMost);
  histogram.Add(0);
  EXPECT_EQ(histogram.SumOfLargest(2), kMost);
  EXPECT_EQ(histogram.sum(), kMost);
  EXPECT_EQ(histogram.MostWithin(0), 1);
}

TEST(SizeHistogramTest, IsEmptyAtFirst) {
  const SizeHistogram histogram;
  EXPECT_EQ(histogram.SumOfLargest(5), 0);
  EXPECT_EQ(histogram.MostWithin(5), 0);
}

}  // namespace
}  // namespace forebay::stream
