#include "server/dataset/kept_indexes.h"

#include <cstdint>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

class KeptIndexesTest : public testing::Test {
 protected:
  // An index as large as its reservation.
  using Index = std::shared_ptr<base::MemoryReservation>;

  // Each is of another place.
  Index Open(std::uint64_t bytes) {
    return OpenAt(std::to_string(++places_), bytes);
  }
  Index OpenAt(const std::string& place, std::uint64_t bytes) {
    auto index = std::make_shared<base::MemoryReservation>(
        *budget_.Reserve(bytes, "an index"));
    kept_.Keep(place, index, bytes);
    return index;
  }

  int places_ = 0;

  std::int64_t now_ = 0;
  base::MemoryBudget budget_{80 * kMib};
  KeptIndexes kept_{&budget_, [this] { return now_; }};
};

TEST_F(KeptIndexesTest, KeepsWhatIsNotOpenAnyMore) {
  std::weak_ptr<base::MemoryReservation> index = OpenAt("a", 5 * kMib);
  EXPECT_FALSE(index.expired());
  EXPECT_EQ(budget_.used(), 5 * kMib);
  // Opened again, it is kept once.
  kept_.Keep("a", index.lock(), 5 * kMib);
  EXPECT_EQ(index.use_count(), 1);
}

TEST_F(KeptIndexesTest, AnotherIndexOfAPlaceSucceedsIt) {
  OpenAt("a", 5 * kMib);
  OpenAt("b", 4 * kMib);
  OpenAt("a", 6 * kMib);
  EXPECT_EQ(budget_.used(), 10 * kMib);
  OpenAt("a", 1);
  EXPECT_EQ(budget_.used(), 4 * kMib);
}

TEST_F(KeptIndexesTest, SpareMemoryComesFirst) {
  Open(10 * kMib);
  EXPECT_TRUE(budget_.ReserveSpare(40 * kMib).has_value());
  EXPECT_EQ(budget_.used(), 0);
}

TEST_F(KeptIndexesTest, NeitherSmallNorHugeOnesAreKept) {
  Open(KeptIndexes::kLeast - 1);
  Open(11 * kMib);
  EXPECT_EQ(budget_.used(), 0);
}

TEST_F(KeptIndexesTest, TheOneThatWasOpenedLongestAgoGoesFirst) {
  const std::weak_ptr<base::MemoryReservation> first = OpenAt("a", 4 * kMib);
  const std::weak_ptr<base::MemoryReservation> second = Open(5 * kMib);
  kept_.Keep("a", first.lock(), 4 * kMib);
  Open(6 * kMib);
  EXPECT_FALSE(first.expired());
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(budget_.used(), 10 * kMib);
}

TEST_F(KeptIndexesTest, AShortageFreesAll) {
  Open(5 * kMib);
  Open(5 * kMib);
  EXPECT_EQ(budget_.used(), 10 * kMib);
  const auto other = budget_.Reserve(75 * kMib, "another");
  EXPECT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(budget_.used(), 75 * kMib);
}

TEST_F(KeptIndexesTest, WhatIsOpenOutlastsAShortage) {
  const Index index = Open(10 * kMib);
  EXPECT_TRUE(absl::IsResourceExhausted(
      budget_.Reserve(75 * kMib, "another").status()));
  EXPECT_EQ(index.use_count(), 1);
  EXPECT_EQ(budget_.used(), 10 * kMib);
}

TEST_F(KeptIndexesTest, IdleOnesAreGivenUp) {
  Open(4 * kMib);
  now_ = 10;
  Open(5 * kMib);
  now_ = 15;
  kept_.GiveUpIdle(15);
  EXPECT_EQ(budget_.used(), 5 * kMib);
  kept_.GiveUpIdle(6);
  EXPECT_EQ(budget_.used(), 5 * kMib);
  kept_.GiveUpIdle(5);
  EXPECT_EQ(budget_.used(), 0);
}

}  // namespace
}  // namespace forebay::dataset
