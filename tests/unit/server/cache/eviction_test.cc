#include "server/cache/eviction.h"

#include <limits>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::cache {
namespace {

using Catch::WithinAbs;
using tests::ElementsAre;
using tests::IsEmpty;

constexpr std::int64_t kNow = 1'000'000;

// A NextUse that answers with the number at the sample's index.
class Told final : public NextUse {
 public:
  explicit Told(std::vector<std::int64_t> nanos) : nanos_(std::move(nanos)) {}
  void Ask(std::int64_t, absl::Span<const storage::SampleRef> samples,
           absl::Span<std::int64_t> nanos) const override {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      nanos[i] = nanos_[samples[i].sample];
    }
  }

 private:
  const std::vector<std::int64_t> nanos_;
};

EntryMetadata Of(std::uint64_t sample, std::int64_t used_at_nanos = 0) {
  EntryMetadata metadata;
  metadata.sample = {1, sample};
  metadata.bytes = 100'000;
  metadata.used_at_nanos = used_at_nanos;
  return metadata;
}

std::vector<CandidateSet::Candidate> Candidates(
    const std::vector<EntryMetadata>& entries) {
  std::vector<CandidateSet::Candidate> candidates;
  for (const EntryMetadata& metadata : entries)
    candidates.push_back({metadata});
  return candidates;
}

// Returns the indexes of the entries that should be evicted.
std::vector<std::size_t> Victims(const EntryMetadata& newcomer,
                                 const std::vector<EntryMetadata>& entries,
                                 const NextUse& next_use) {
  std::vector<std::size_t> victims;
  for (const ScoredCandidate& scored :
       EvictionOrder(Candidates(entries), next_use, kNow)) {
    if (scored.cost > EvictionCostOf(newcomer, next_use, kNow))
      victims.push_back(scored.candidate);
  }
  return victims;
}

TEST_CASE("The entry that is wanted last is evicted from the cache first",
          "[cache][eviction]") {
  const Told told({50, 300, 20, 100, 400});
  CHECK_THAT(Victims(Of(0), {Of(1), Of(2), Of(3), Of(4)}, told),
             ElementsAre(3, 0, 2));
}

TEST_CASE("The cache passes by a newcomer that is wanted last",
          "[cache][eviction]") {
  const Told told({400, 300, 20, kNever});
  CHECK_THAT(Victims(Of(0), {Of(1), Of(2)}, told), IsEmpty());
  CHECK_THAT(Victims(Of(0), {Of(0)}, told), IsEmpty());
  CHECK_THAT(Victims(Of(3), {Of(3)}, told), IsEmpty());
}

TEST_CASE(
    "Never-wanted entries are evicted first and the least recently used before "
    "others",
    "[cache][eviction]") {
  const Told told({50, kNever, 900'000'000});
  CHECK_THAT(Victims(Of(0), {Of(2), Of(1, 30), Of(1, 10), Of(1, 20)}, told),
             ElementsAre(2, 3, 1, 0));
}

TEST_CASE(
    "Eviction falls back to the reader's hint where the next use is unknown",
    "[cache][eviction]") {
  const Told told({kUnknown});
  EntryMetadata soon = Of(0);
  Touch(&soon, kNow, 10);
  EntryMetadata late = Of(0);
  Touch(&late, kNow, 1'000);
  CHECK(EvictionCost(soon, kUnknown, kNow) <
        EvictionCost(late, kUnknown, kNow));
  CHECK(EvictionCost(late, kUnknown, kNow) == EvictionCost(late, 1'000, kNow));
}

TEST_CASE("Without a hint eviction counts an entry's age",
          "[cache][eviction]") {
  const Told told({kUnknown, 500, 1'500});
  const EntryMetadata fresh = Of(0, kNow);
  const EntryMetadata old = Of(0, kNow - 1'000);
  CHECK_THAT(Victims(fresh, {Of(1), old, Of(2)}, told), ElementsAre(2, 1, 0));
  EntryMetadata past = Of(0, kNow - 1'000);
  past.wanted_at_nanos = kNow;
  CHECK(EvictionCost(past, kUnknown, kNow) ==
        EvictionCost(old, kUnknown, kNow));
}

TEST_CASE(
    "Eviction takes the largest entry of one next use first but not by size "
    "alone",
    "[cache][eviction]") {
  EntryMetadata small = Of(0);
  small.bytes = 10'000;
  EntryMetadata large = Of(0);
  large.bytes = 1'000'000;
  EntryMetadata huge = Of(0);
  huge.bytes = 100'000'000;
  CHECK(EvictionCost(small, 100, kNow) < EvictionCost(large, 100, kNow));
  // A large read costs about as much as its bytes.
  CHECK_THAT(EvictionCost(huge, 100, kNow) / EvictionCost(large, 100, kNow),
             WithinAbs(1, 0.15));
  CHECK(EvictionCost(small, kNever, kNow) ==
        std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace forebay::cache
