#include "server/cache/candidate_set.h"

#include <map>
#include <random>
#include <set>

#include "tests/catch/catch.h"

namespace forebay::cache {
namespace {

using Catch::WithinAbs;

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

TEST_CASE("A candidate set draws all if there are few",
          "[cache][candidate_set]") {
  CandidateSet candidates;
  for (std::uint64_t i = 0; i < 10; ++i) candidates.Add(Of(i));
  std::set<std::uint64_t> samples;
  const auto drawn = Draw(candidates, 10, 0);
  for (const auto& candidate : drawn) {
    samples.insert(candidate.metadata.sample.sample);
  }
  CHECK(drawn.size() == 10);
  CHECK(samples.size() == 10);
}

TEST_CASE("A candidate set draws each of many alike and every time others",
          "[cache][candidate_set]") {
  constexpr int kDraws = 10'000;
  CandidateSet candidates;
  for (std::uint64_t i = 0; i < 100; ++i) candidates.Add(Of(i));
  std::map<std::uint64_t, int> times;
  for (int i = 0; i < kDraws; ++i) {
    for (const auto& candidate : Draw(candidates, 10, i)) {
      ++times[candidate.metadata.sample.sample];
    }
  }
  CHECK(times.size() == 100);
  // Each sample comes up 1000 times on average; six standard deviations are
  // 190.
  for (const auto& [sample, count] : times) {
    CAPTURE(sample);
    CHECK_THAT(count, WithinAbs(1000, 190));
  }
}

TEST_CASE("A candidate set knows whether a candidate is still there",
          "[cache][candidate_set]") {
  CandidateSet candidates;
  const CandidateSet::Handle first = candidates.Add(Of(1));
  candidates.Add(Of(2));
  const auto drawn = Draw(candidates, 2, 0);
  CHECK(candidates.Has(drawn[0]));
  candidates.Remove(first);
  CHECK_FALSE(candidates.Has(drawn[0]));
  CHECK(candidates.Has(drawn[1]));
  // Another entry now has the handle of the removed one.
  CHECK(candidates.Add(Of(3)) == first);
  CHECK_FALSE(candidates.Has(drawn[0]));
}

TEST_CASE(
    "A candidate set's handles name the same entry whatever comes and goes",
    "[cache][candidate_set]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  CandidateSet candidates;
  std::map<CandidateSet::Handle, std::uint64_t> model;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    if (model.empty() || random() % 5 < 3) {
      const CandidateSet::Handle handle = candidates.Add(Of(i));
      CHECK(model.emplace(handle, i).second);
    } else {
      const auto gone = std::next(model.begin(), random() % model.size());
      candidates.Remove(gone->first);
      model.erase(gone);
    }
    REQUIRE(candidates.size() == model.size());
  }
  for (const auto& [handle, sample] : model) {
    CHECK(candidates.At(handle).sample.sample == sample);
  }
  for (const auto& candidate : Draw(candidates, candidates.size(), 0)) {
    CHECK(model.at(candidate.handle) == candidate.metadata.sample.sample);
  }
}

TEST_CASE(
    "A touched cache entry keeps the soonest hope of use until it is past",
    "[cache][candidate_set]") {
  EntryMetadata metadata;
  Touch(&metadata, 100, 50);
  CHECK(metadata.wanted_at_nanos == 150);
  Touch(&metadata, 110, 90);
  CHECK(metadata.wanted_at_nanos == 150);
  CHECK(metadata.used_at_nanos == 110);
  Touch(&metadata, 150, 90);
  CHECK(metadata.wanted_at_nanos == 240);
  Touch(&metadata, 240, INT64_MAX);
  CHECK(metadata.wanted_at_nanos == INT64_MAX);
}

}  // namespace
}  // namespace forebay::cache
