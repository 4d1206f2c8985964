#include "server/storage/all_job_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace forebay::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Remembers the weights and caps that it is told.
struct Recorder final : public schedule::JobShares {
  void SetWeight(schedule::Flow job, double weight) override {
    weights[job] = weight;
  }
  void SetCap(schedule::Flow job, double bytes_per_second) override {
    caps[job] = bytes_per_second;
  }
  void Forget(schedule::Flow job) override {
    weights.erase(job);
    caps.erase(job);
  }

  std::map<schedule::Flow, double> weights;
  std::map<schedule::Flow, double> caps;
};

TEST(AllJobSharesTest, EachKnowsTheWeightsAndCaps) {
  Recorder local;
  Recorder buckets;
  AllJobShares shares;
  shares.Add(&local);
  shares.SetWeight(1, 0.5);
  shares.SetWeight(2, 2);
  shares.SetWeight(3, 3);
  shares.SetCap(2, 1e6);
  shares.SetCap(3, 1e7);
  shares.Forget(3);
  shares.Add(&buckets);
  EXPECT_THAT(buckets.caps, ElementsAre(Pair(2, 1e6)));
  shares.SetCap(1, 2e6);
  EXPECT_THAT(buckets.caps, ElementsAre(Pair(1, 2e6), Pair(2, 1e6)));
  EXPECT_EQ(local.caps, buckets.caps);
  EXPECT_THAT(buckets.weights, ElementsAre(Pair(1, 0.5), Pair(2, 2)));
  shares.SetWeight(1, 4);
  shares.Forget(2);
  EXPECT_THAT(buckets.weights, ElementsAre(Pair(1, 4)));
  EXPECT_EQ(local.weights, buckets.weights);
  shares.Forget(1);
  EXPECT_THAT(local.weights, IsEmpty());
}

}  // namespace
}  // namespace forebay::storage
