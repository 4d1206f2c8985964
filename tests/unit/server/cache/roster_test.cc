#include "server/cache/roster.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace forebay::cache {
namespace {

Holding Of(std::uint64_t sample) {
  Holding holding;
  holding.sample = {1, sample};
  return holding;
}

std::vector<Roster::Candidate> Draw(const Roster& roster, std::size_t count,
                                    std::uint64_t number) {
  base::PhiloxStream random(1, number, 0, 0);
  std::vector<Roster::Candidate> drawn;
  roster.Draw(count, random, &drawn);
  return drawn;
}

TEST(RosterTest, DrawsAllIfThereAreFew) {
  Roster roster;
  for (std::uint64_t i = 0; i < 10; ++i) roster.Add(Of(i));
  std::set<std::uint64_t> samples;
  const auto drawn = Draw(roster, 10, 0);
  for (const auto& candidate : drawn) {
    samples.insert(candidate.holding.sample.sample);
  }
  EXPECT_EQ(drawn.size(), 10);
  EXPECT_EQ(samples.size(), 10);
}

TEST(RosterTest, DrawsEachOfManyAlikeAndEveryTimeOthers) {
  constexpr int kDraws = 10'000;
  Roster roster;
  for (std::uint64_t i = 0; i < 100; ++i) roster.Add(Of(i));
  std::map<std::uint64_t, int> times;
  for (int i = 0; i < kDraws; ++i) {
    for (const auto& candidate : Draw(roster, 10, i)) {
      ++times[candidate.holding.sample.sample];
    }
  }
  EXPECT_EQ(times.size(), 100);
  // 1000 each; six standard deviations are 190.
  for (const auto& [sample, count] : times) {
    EXPECT_NEAR(count, 1000, 190) << sample;
  }
}

TEST(RosterTest, KnowsWhetherACandidateIsStillThere) {
  Roster roster;
  const Roster::Handle first = roster.Add(Of(1));
  roster.Add(Of(2));
  const auto drawn = Draw(roster, 2, 0);
  EXPECT_TRUE(roster.Has(drawn[0]));
  roster.Remove(first);
  EXPECT_FALSE(roster.Has(drawn[0]));
  EXPECT_TRUE(roster.Has(drawn[1]));
  // Another one gets the handle.
  EXPECT_EQ(roster.Add(Of(3)), first);
  EXPECT_FALSE(roster.Has(drawn[0]));
}

TEST(RosterTest, HandlesNameTheSameHoldingWhateverComesAndGoes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Roster roster;
  std::map<Roster::Handle, std::uint64_t> model;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    if (model.empty() || random() % 5 < 3) {
      const Roster::Handle handle = roster.Add(Of(i));
      EXPECT_TRUE(model.emplace(handle, i).second);
    } else {
      const auto gone = std::next(model.begin(), random() % model.size());
      roster.Remove(gone->first);
      model.erase(gone);
    }
    ASSERT_EQ(roster.size(), model.size());
  }
  for (const auto& [handle, sample] : model) {
    EXPECT_EQ(roster.At(handle).sample.sample, sample);
  }
  for (const auto& candidate : Draw(roster, roster.size(), 0)) {
    EXPECT_EQ(model.at(candidate.handle), candidate.holding.sample.sample);
  }
}

TEST(TouchTest, KeepsTheSoonestHopeUntilItIsPast) {
  Holding holding;
  Touch(&holding, 100, 50);
  EXPECT_EQ(holding.wanted_at_nanos, 150);
  Touch(&holding, 110, 90);
  EXPECT_EQ(holding.wanted_at_nanos, 150);
  EXPECT_EQ(holding.used_at_nanos, 110);
  Touch(&holding, 150, 90);
  EXPECT_EQ(holding.wanted_at_nanos, 240);
  Touch(&holding, 240, INT64_MAX);
  EXPECT_EQ(holding.wanted_at_nanos, INT64_MAX);
}

}  // namespace
}  // namespace forebay::cache
