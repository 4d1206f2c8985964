#include "server/storage/all_job_shares.h"

#include <map>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;
using tests::Pair;

// A JobShares that remembers the weights and caps that were set.
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

TEST_CASE(
    "All job shares know the weights and caps even if they are added late",
    "[storage][all_job_shares]") {
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
  CHECK_THAT(buckets.caps, ElementsAre(Pair(2, 1e6)));
  shares.SetCap(1, 2e6);
  CHECK_THAT(buckets.caps, ElementsAre(Pair(1, 2e6), Pair(2, 1e6)));
  CHECK(local.caps == buckets.caps);
  CHECK_THAT(buckets.weights, ElementsAre(Pair(1, 0.5), Pair(2, 2)));
  shares.SetWeight(1, 4);
  shares.Forget(2);
  CHECK_THAT(buckets.weights, ElementsAre(Pair(1, 4)));
  CHECK(local.weights == buckets.weights);
  shares.Forget(1);
  CHECK_THAT(local.weights, IsEmpty());
}

}  // namespace
}  // namespace forebay::storage
