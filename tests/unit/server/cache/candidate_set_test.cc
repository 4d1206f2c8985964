#include "server/cache/candidate_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace forebay::cache {
namespace {

EntryMetadata Of(std::uint64_t sample) {
  EntryMetadata metadata;
  metadata.sample = {1, sample};
  return metadata;
}

std::vector<CandidateSet::Candidate> Draw(const CandidateSet& candidates,
                                          std::size_t count,
                                          std::uint64_t number) {
  base::PhiloxStream random(1, number, 0, 0);
  std::vector<CandidateSet::Candidate> drawn;
  candidates.Draw(count, random, &drawn);
  return drawn;
}

TEST(CandidateSetTest, DrawsAllIfThereAreFew) {
  CandidateSet candidates;
  for (std::uint64_t i = 0; i < 10; ++i) candidates.Add(Of(i));
  std::set<std::uint64_t> samples;
  const auto drawn = Draw(candidates, 10, 0);
  for (const auto& candidate : drawn) {
    samples.insert(candidate.metadata.sample.sample);
  }
  EXPECT_EQ(drawn.size(), 10);
  EXPECT_EQ(samples.size(), 10);
}

TEST(CandidateSetTest, DrawsEachOfManyAlikeAndEveryTimeOthers) {
  constexpr int kDraws = 10'000;
  CandidateSet candidates;
  for (std::uint64_t i = 0; i < 100; ++i) candidates.Add(Of(i));
  std::map<std::uint64_t, int> times;
  for (int i = 0; i < kDraws; ++i) {
    for (const auto& candidate : Draw(candidates, 10, i)) {
      ++times[candidate.metadata.sample.sample];
    }
  }
  EXPECT_EQ(times.size(), 100);
  // 1000 each; six standard deviations are 190.
  for (const auto& [sample, count] : times) {
    EXPECT_NEAR(count, 1000, 190) << sample;
  }
}

TEST(CandidateSetTest, KnowsWhetherACandidateIsStillThere) {
  CandidateSet candidates;
  const CandidateSet::Handle first = candidates.Add(Of(1));
  candidates.Add(Of(2));
  const auto drawn = Draw(candidates, 2, 0);
  EXPECT_TRUE(candidates.Has(drawn[0]));
  candidates.Remove(first);
  EXPECT_FALSE(candidates.Has(drawn[0]));
  EXPECT_TRUE(candidates.Has(drawn[1]));
  // Another entry gets the handle.
  EXPECT_EQ(candidates.Add(Of(3)), first);
  EXPECT_FALSE(candidates.Has(drawn[0]));
}

TEST(CandidateSetTest, HandlesNameTheSameEntryWhateverComesAndGoes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  CandidateSet candidates;
  std::map<CandidateSet::Handle, std::uint64_t> model;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    if (model.empty() || random() % 5 < 3) {
      const CandidateSet::Handle handle = candidates.Add(Of(i));
      EXPECT_TRUE(model.emplace(handle, i).second);
    } else {
      const auto gone = std::next(model.begin(), random() % model.size());
      candidates.Remove(gone->first);
      model.erase(gone);
    }
    ASSERT_EQ(candidates.size(), model.size());
  }
  for (const auto& [handle, sample] : model) {
    EXPECT_EQ(candidates.At(handle).sample.sample, sample);
  }
  for (const auto& candidate : Draw(candidates, candidates.size(), 0)) {
    EXPECT_EQ(model.at(candidate.handle), candidate.metadata.sample.sample);
  }
}

TEST(TouchTest, KeepsTheSoonestHopeUntilItIsPast) {
  EntryMetadata metadata;
  Touch(&metadata, 100, 50);
  EXPECT_EQ(metadata.wanted_at_nanos, 150);
  Touch(&metadata, 110, 90);
  EXPECT_EQ(metadata.wanted_at_nanos, 150);
  EXPECT_EQ(metadata.used_at_nanos, 110);
  Touch(&metadata, 150, 90);
  EXPECT_EQ(metadata.wanted_at_nanos, 240);
  Touch(&metadata, 240, INT64_MAX);
  EXPECT_EQ(metadata.wanted_at_nanos, INT64_MAX);
}

}  // namespace
}  // namespace forebay::cache
