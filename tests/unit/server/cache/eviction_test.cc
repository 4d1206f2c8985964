#include "server/cache/eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace forebay::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kNow = 1'000'000;

// Answers with what stands in the sample's place.
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

Holding Of(std::uint64_t sample, std::int64_t used_at_nanos = 0) {
  Holding holding;
  holding.sample = {1, sample};
  holding.bytes = 100'000;
  holding.used_at_nanos = used_at_nanos;
  return holding;
}

std::vector<Roster::Candidate> Candidates(
    const std::vector<Holding>& holdings) {
  std::vector<Roster::Candidate> candidates;
  for (const Holding& holding : holdings) candidates.push_back({holding});
  return candidates;
}

// The places of those that should make room.
std::vector<std::size_t> Leaving(const Holding& newcomer,
                                 const std::vector<Holding>& holdings,
                                 const NextUse& next_use) {
  std::vector<std::size_t> leaving;
  for (const Bid& bid : OrderOfLeaving(Candidates(holdings), next_use, kNow)) {
    if (bid.rent > RentOf(newcomer, next_use, kNow))
      leaving.push_back(bid.candidate);
  }
  return leaving;
}

TEST(EvictionTest, WhoIsWantedLastGoesFirst) {
  const Told told({50, 300, 20, 100, 400});
  EXPECT_THAT(Leaving(Of(0), {Of(1), Of(2), Of(3), Of(4)}, told),
              ElementsAre(3, 0, 2));
}

TEST(EvictionTest, TheNewcomerIsPassedByWhereItIsWantedLast) {
  const Told told({400, 300, 20, kNever});
  EXPECT_THAT(Leaving(Of(0), {Of(1), Of(2)}, told), IsEmpty());
  EXPECT_THAT(Leaving(Of(0), {Of(0)}, told), IsEmpty());
  EXPECT_THAT(Leaving(Of(3), {Of(3)}, told), IsEmpty());
}

TEST(EvictionTest, WhatNobodyWantsGoesFirstTheLeastRecentlyUsedBeforeOthers) {
  const Told told({50, kNever, 900'000'000});
  EXPECT_THAT(Leaving(Of(0), {Of(2), Of(1, 30), Of(1, 10), Of(1, 20)}, told),
              ElementsAre(2, 3, 1, 0));
}

TEST(EvictionTest, WhatNobodyCanTellOfGoesByWhatItsReaderSaid) {
  const Told told({kUnknown});
  Holding soon = Of(0);
  Touch(&soon, kNow, 10);
  Holding late = Of(0);
  Touch(&late, kNow, 1'000);
  EXPECT_LT(Rent(soon, kUnknown, kNow), Rent(late, kUnknown, kNow));
  EXPECT_EQ(Rent(late, kUnknown, kNow), Rent(late, 1'000, kNow));
}

TEST(EvictionTest, WhatNobodySaidAnythingOfGoesByItsAge) {
  const Told told({kUnknown, 500, 1'500});
  const Holding fresh = Of(0, kNow);
  const Holding old = Of(0, kNow - 1'000);
  EXPECT_THAT(Leaving(fresh, {Of(1), old, Of(2)}, told), ElementsAre(2, 1, 0));
  Holding past = Of(0, kNow - 1'000);
  past.wanted_at_nanos = kNow;
  EXPECT_EQ(Rent(past, kUnknown, kNow), Rent(old, kUnknown, kNow));
}

TEST(EvictionTest, OfOneNextUseTheLargestGoesFirstButNotBySizeAlone) {
  Holding small = Of(0);
  small.bytes = 10'000;
  Holding large = Of(0);
  large.bytes = 1'000'000;
  Holding huge = Of(0);
  huge.bytes = 100'000'000;
  EXPECT_LT(Rent(small, 100, kNow), Rent(large, 100, kNow));
  // What a large read costs is its bytes.
  EXPECT_NEAR(Rent(huge, 100, kNow) / Rent(large, 100, kNow), 1, 0.15);
  EXPECT_EQ(Rent(small, kNever, kNow), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace forebay::cache
