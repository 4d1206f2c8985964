#include "server/stream/size_histogram.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/suite.h"

namespace forebay::stream {
namespace {

class SizeHistogramTest {
 public:
  using Subject = unsigned;

  explicit SizeHistogramTest(Subject seed) : seed_(seed) {}

 protected:
  const unsigned seed_;
};

SUITE_CASE(SizeHistogramTest, "A size histogram bounds sums within a sixteenth",
           "[stream][size_histogram]") {
  std::mt19937_64 random(seed_);
  std::vector<std::uint64_t> sizes(1 + random() % 300);
  SizeHistogram histogram;
  for (std::uint64_t& size : sizes) {
    size = random() >> (20 + random() % 44);
    histogram.Add(size);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  CHECK(histogram.count() == sizes.size());
  CHECK(histogram.largest() == sizes.front());
  CHECK(histogram.sum() ==
        std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
  std::uint64_t largest = 0;
  for (std::size_t many = 0; many <= sizes.size(); ++many) {
    const std::uint64_t bound = histogram.SumOfLargest(many);
    CHECK(bound >= largest);
    CHECK(bound <= largest + largest / 16 + 1);
    if (many < sizes.size()) largest += sizes[many];
  }
  std::uint64_t smallest = 0;
  for (std::size_t many = 1; many <= sizes.size(); ++many) {
    smallest += sizes[sizes.size() - many];
    CHECK(histogram.MostWithin(smallest) >= many);
  }
}

const tests::RunsOn<SizeHistogramTest> kSeeds(tests::Seeds(40));

TEST_CASE("A size histogram takes the largest sizes there are",
          "[stream][size_histogram]") {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  SizeHistogram histogram;
  histogram.Add(kMost);
  histogram.Add(kMost);
  histogram.Add(0);
  CHECK(histogram.SumOfLargest(2) == kMost);
  CHECK(histogram.sum() == kMost);
  CHECK(histogram.MostWithin(0) == 1);
}

TEST_CASE("A size histogram is empty at first", "[stream][size_histogram]") {
  const SizeHistogram histogram;
  CHECK(histogram.SumOfLargest(5) == 0);
  CHECK(histogram.MostWithin(5) == 0);
}

}  // namespace
}  // namespace forebay::stream
