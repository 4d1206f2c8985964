#include "server/storage/local/working_set_estimate.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay::storage::local {
namespace {

TEST(WorkingSetEstimateTest, CountsDifferentReads) {
  WorkingSetEstimate working_set;
  EXPECT_EQ(working_set.bytes(), 0);
  for (int epoch = 0; epoch < 3; ++epoch)
    for (std::uint64_t read = 1; read <= 2000; ++read)
      working_set.Add(read * 0x9e3779b97f4a7c15, 1000);
  EXPECT_NEAR(working_set.bytes(), 2e6, 1);
}

TEST(WorkingSetEstimateTest, EstimatesWhatIsLarge) {
  WorkingSetEstimate working_set;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::mt19937_64 random(1);
    double bytes = 0;
    for (int read = 0; read < 300'000; ++read) {
      const std::uint64_t hash = random();
      working_set.Add(hash, 50'000 + hash % 100'000);
      bytes += static_cast<double>(50'000 + hash % 100'000);
    }
    EXPECT_NEAR(working_set.bytes() / bytes, 1, 0.08);
  }
}

}  // namespace
}  // namespace forebay::storage::local
