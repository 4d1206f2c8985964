#include "server/cache/disk/segment_eviction.h"

#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/cache/cache_house.h"

namespace forebay::cache::disk {
namespace {

constexpr std::int64_t kNow = 1'000;

Index::DrawnSegment Segment(Index::SegmentId id, std::int64_t used_at_nanos,
                            const std::vector<std::uint64_t>& samples) {
  Index::DrawnSegment drawn = {id, used_at_nanos, {}};
  for (const std::uint64_t sample : samples) {
    drawn.samples.push_back({1, sample});
  }
  return drawn;
}

TEST_CASE("Segment eviction finds no victim without segments",
          "[disk][segment_eviction]") {
  CHECK_FALSE(ChooseVictim({}, ScriptedNextUse(), kNow).has_value());
}

TEST_CASE("Segment eviction takes the segment with the largest threshold",
          "[disk][segment_eviction]") {
  ScriptedNextUse next_use;
  for (std::uint64_t sample = 1; sample <= 8; ++sample) {
    next_use.Want(sample, kNow + static_cast<std::int64_t>(sample) * 100);
  }
  const auto victim =
      ChooseVictim({{Segment(0, 0, {1, 2, 7, 8}), Segment(1, 0, {3, 4, 5, 6})}},
                   next_use, kNow);
  REQUIRE(victim.has_value());
  CHECK(victim->segment == 1);
  CHECK(victim->threshold_nanos == 200);
}

TEST_CASE(
    "Segment eviction takes the least recently used of two unwanted segments",
    "[disk][segment_eviction]") {
  ScriptedNextUse next_use;
  for (std::uint64_t sample = 1; sample <= 8; ++sample) {
    next_use.Want(sample, sample == 1 ? kNow + 5 : kNever);
  }
  const auto victim =
      ChooseVictim({{Segment(0, 30, {5, 6}), Segment(1, 20, {1, 2, 3, 4}),
                     Segment(2, 10, {1, 1, 7, 8}), Segment(3, 25, {})}},
                   next_use, kNow);
  CHECK(victim->segment == 1);
  CHECK(victim->threshold_nanos == kNever);
}

TEST_CASE(
    "Segment eviction carries over what is wanted long before the threshold",
    "[disk][segment_eviction]") {
  ScriptedNextUse next_use;
  next_use.Want(1, kNow + 299);
  next_use.Want(2, kNow + 300);
  next_use.Want(3, kNever);
  const std::vector<storage::SampleRef> samples = {
      {1, 1}, {1, 2}, {1, 3}, {1, 4}, {0, 0}};
  CHECK(SamplesToCarryOver(500, samples, next_use, kNow) ==
        std::vector<bool>({true, false, false, false, false}));
  // kNever is the threshold of a segment whose samples hardly any reader wants.
  CHECK(SamplesToCarryOver(kNever, samples, next_use, kNow) ==
        std::vector<bool>({true, true, false, false, false}));
}

TEST_CASE(
    "Segment eviction falls back to the age where the next use is unknown",
    "[disk][segment_eviction]") {
  const auto victim =
      ChooseVictim({{Segment(0, 900, {1, 2}), Segment(1, 700, {3, 4}),
                     Segment(2, 2'000, {5, 6})}},
                   ScriptedNextUse(), kNow);
  CHECK(victim->segment == 1);
  CHECK(victim->threshold_nanos == 150);
}

TEST_CASE(
    "A newcomer is wanted when the next-use oracle says or else when its "
    "reader says",
    "[disk][segment_eviction]") {
  ScriptedNextUse next_use;
  next_use.Want(1, kNow + 5);
  next_use.Want(2, kNever);
  CHECK(TimeToNextUse({1, 1}, 77, next_use, kNow) == 5);
  CHECK(TimeToNextUse({1, 2}, 77, next_use, kNow) == kNever);
  CHECK(TimeToNextUse({1, 3}, 77, next_use, kNow) == 77);
  CHECK(TimeToNextUse({1, 3}, INT64_MAX, next_use, kNow) == 600'000'000'000);
}

}  // namespace
}  // namespace forebay::cache::disk
