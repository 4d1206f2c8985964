#include "server/sampler/sample_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace forebay::sampler {
namespace {

TEST(SampleSetTest, FindsWhatItLacks) {
  for (const std::uint64_t size : {1, 63, 64, 65, 4'096, 4'097, 300'000}) {
    SCOPED_TRACE(size);
    SampleSet set(size);
    EXPECT_EQ(set.lacking(), size);
    EXPECT_EQ(set.Lacking(0), 0u);
    EXPECT_EQ(set.Lacking(size - 1), size - 1);
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < size; ++i) {
      if (random() % 16 != 0) set.Add(i);
    }
    std::vector<std::uint64_t> lacking;
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!set.Has(i)) lacking.push_back(i);
    }
    ASSERT_EQ(set.lacking(), lacking.size());
    for (std::uint64_t rank = 0; rank < lacking.size(); ++rank) {
      ASSERT_EQ(set.Lacking(rank), lacking[rank]);
    }
  }
  EXPECT_EQ(SampleSet(0).lacking(), 0u);
  SampleSet set(10);
  set.Add(1);
  set.Add(9);
  set.Add(9);
  EXPECT_EQ(set.lacking(), 8u);
}

}  // namespace
}  // namespace forebay::sampler
