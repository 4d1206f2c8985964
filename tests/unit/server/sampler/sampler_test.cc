#include "server/sampler/sampler.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/job.pb.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::sampler {
namespace {

proto::SamplerSpec Spec(proto::SamplerSpec::Order order,
                        proto::SamplerSpec::Pad pad, std::uint64_t seed,
                        std::uint32_t rank, std::uint32_t world_size) {
  proto::SamplerSpec spec;
  spec.set_order(order);
  spec.set_block_samples(7);
  spec.set_pad(pad);
  spec.set_seed(seed);
  spec.set_rank(rank);
  spec.set_world_size(world_size);
  return spec;
}

std::string Refusal(const proto::SamplerSpec& spec, std::uint64_t size) {
  const auto sampler = Sampler::Create(spec, size);
  EXPECT_EQ(sampler.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(sampler.status().message());
}

TEST(SamplerTest, UnsetSpecIsSequentialAndAlone) {
  const auto sampler = Sampler::Create({}, 5);
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  ASSERT_EQ(sampler->samples_per_epoch(), 5);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sampler->Epoch(7).SampleAt(i), i);
    EXPECT_EQ(sampler->Epoch(7).PositionOf(i), i);
  }
}

// Checks that all ranks together see what the pad promises, and that each finds
// its samples.
TEST(SamplerTest, RanksTogetherCover) {
  const std::uint64_t generator_seed = 7;
  std::cout << "seed " << generator_seed << "\n";
  std::mt19937_64 random(generator_seed);
  for (int repeat = 0; repeat < 600; ++repeat) {
    const std::uint64_t size = 1 + random() % 300;
    const std::uint32_t world = 1 + random() % 20;
    const std::uint64_t seed = random();
    const std::uint64_t epoch = random() % 100;
    const auto pad = static_cast<proto::SamplerSpec::Pad>(1 + random() % 3);
    const auto order = static_cast<proto::SamplerSpec::Order>(1 + random() % 3);
    std::vector<int> seen(size);
    std::uint64_t total = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const auto sampler =
          Sampler::Create(Spec(order, pad, seed, rank, world), size);
      ASSERT_TRUE(sampler.ok()) << sampler.status();
      const EpochOrder epoch_order = sampler->Epoch(epoch);
      std::set<std::uint64_t> mine;
      for (std::uint64_t i = 0; i < sampler->samples_per_epoch(); ++i) {
        const std::uint64_t sample = sampler->Epoch(epoch).SampleAt(i);
        ASSERT_LT(sample, size);
        EXPECT_EQ(epoch_order.SampleAt(i), sample);
        if (mine.insert(sample).second) {
          EXPECT_EQ(sampler->Epoch(epoch).PositionOf(sample), i);
        }
        ++seen[sample];
        ++total;
      }
      for (std::uint64_t sample = 0; sample < size; ++sample) {
        EXPECT_EQ(sampler->Epoch(epoch).PositionOf(sample).has_value(),
                  mine.count(sample) == 1);
      }
    }
    const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
    if (pad == proto::SamplerSpec::NONE) {
      EXPECT_EQ(*least, 1);
      EXPECT_EQ(*most, 1);
    } else if (pad == proto::SamplerSpec::DROP) {
      EXPECT_LE(*most, 1);
      EXPECT_EQ(total, size / world * world);
    } else {
      EXPECT_GE(*least, 1);
      EXPECT_LE(*most - *least, 1);
      EXPECT_EQ(total, (size + world - 1) / world * world);
    }
  }
}

TEST(SamplerTest, ShuffleIsTheSameForAllRanks) {
  const auto alone = Sampler::Create(
      Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 9, 0, 1),
      1001);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto one = Sampler::Create(
        Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 9, rank, 4),
        1001);
    for (std::uint64_t i = 0; i < 250; ++i) {
      EXPECT_EQ(one->Epoch(2).SampleAt(i),
                alone->Epoch(2).SampleAt(4 * i + rank));
    }
  }
}

TEST(SamplerTest, AnEpochIsWhatItsListSays) {
  base::MemoryBudget budget(1 << 20);
  // All settings but the order and the seed have no effect.
  const auto sampler = *Sampler::Create(
      Spec(proto::SamplerSpec::LISTED, proto::SamplerSpec::DROP, 1, 2, 3), 10);
  EXPECT_EQ(sampler.samples_per_epoch(), 0);
  EXPECT_EQ(sampler.Epoch(0).samples(), 0);
  const EpochOrder order =
      sampler.Epoch(4, base::MakeList({9, 2, 9, 0, 9}, 10, &budget));
  EXPECT_EQ(order.epoch(), 4);
  ASSERT_EQ(order.samples(), 5);
  EXPECT_EQ(order.SampleAt(2), 9);
  EXPECT_EQ(order.PositionOf(9), 0);
  EXPECT_EQ(order.PositionOf(9, 1), 2);
  EXPECT_EQ(order.PositionOf(9, 5), std::nullopt);
  EXPECT_EQ(order.PositionOf(7), std::nullopt);
  EXPECT_EQ(order.RepeatsBefore(4), 2);
  EXPECT_EQ(order.RepeatsBefore(1), 0);
  // The next list is not known: half an epoch away, on average.
  const EpochOrder next = sampler.After(order);
  EXPECT_EQ(next.epoch(), 5);
  EXPECT_EQ(next.samples(), 5);
  EXPECT_EQ(next.PositionOf(7), 2);
}

TEST(SamplerTest, OneThatNeedsAListTakesNothingElse) {
  base::MemoryBudget budget(1 << 20);
  const auto list = base::MakeList({1}, 10, &budget);
  const auto listed = *Sampler::Create(
      Spec(proto::SamplerSpec::LISTED, proto::SamplerSpec::WRAP, 0, 0, 1), 10);
  const auto shuffled = *Sampler::Create(
      Spec(proto::SamplerSpec::SHUFFLE, proto::SamplerSpec::WRAP, 0, 0, 1), 10);
  EXPECT_TRUE(listed.CheckList(list.get()).ok());
  EXPECT_TRUE(shuffled.CheckList(nullptr).ok());
  EXPECT_EQ(listed.CheckList(nullptr).message(),
            "sampler: the order is listed, but no list came");
  EXPECT_EQ(shuffled.CheckList(list.get()).message(),
            "sampler: a list came, but the order is not listed");
}

TEST(SamplerTest, RefusesWhatMakesNoSense) {
  const auto order = proto::SamplerSpec::SHUFFLE;
  const auto pad = proto::SamplerSpec::NONE;
  EXPECT_EQ(Refusal(Spec(order, pad, 0, 4, 4), 10),
            "sampler: rank 4 is not below world_size 4");
  EXPECT_EQ(Refusal(Spec(order, pad, 0, 1, 0), 10),
            "sampler: rank 1 is not below world_size 1");
  EXPECT_EQ(Refusal(Spec(order, pad, 0, 0, (1 << 20) + 1), 10),
            "sampler: world_size 1048577 is above 1048576");
  EXPECT_EQ(Refusal(Spec(order, pad, 0, 0, 1), 0),
            "sampler: the dataset has no samples");
  EXPECT_NE(Refusal(Spec(order, pad, 0, 0, 1),
                    std::numeric_limits<std::uint64_t>::max()),
            "");
  EXPECT_EQ(
      Refusal(Spec(static_cast<proto::SamplerSpec::Order>(77), pad, 0, 0, 1),
              10),
      "sampler: order 77 is not known");
  EXPECT_EQ(
      Refusal(Spec(order, static_cast<proto::SamplerSpec::Pad>(-1), 0, 0, 1),
              10),
      "sampler: pad -1 is not known");
}

}  // namespace
}  // namespace forebay::sampler
