#include "server/storage/http/started_parts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace forebay::storage::http {
namespace {

class StartedPartsTest : public ::testing::Test {
 protected:
  using Id = StartedParts::Id;

  void Begin(Id id, std::int64_t now) {
    places_.insert(id);
    parts_.Begin(id, 100, now);
  }
  // Looks twice, as what is stalled has to be found so.
  void Look(std::int64_t now) {
    LookOnce(now);
    LookOnce(now);
  }
  void LookOnce(std::int64_t now) {
    parts_.Look(now, /*stall_nanos=*/10, [this](Id id) {
      const auto found = heard_.find(id);
      return found == heard_.end() ? INT64_MIN : found->second;
    });
  }
  // Those with a place; each takes and gives back one at a time.
  std::set<Id> Places() {
    EXPECT_EQ(parts_.bytes(), 100 * places_.size());
    return places_;
  }

  std::set<Id> places_;
  std::map<Id, std::int64_t> heard_;
  StartedParts parts_{
      {.give_back = [this](Id id) { EXPECT_EQ(places_.erase(id), 1); },
       .take = [this](Id id) { EXPECT_TRUE(places_.insert(id).second); }}};
};

TEST_F(StartedPartsTest, APartThatBringsNothingGivesItsPlaceBack) {
  Begin(1, 0);
  Begin(2, 5);
  Look(9);
  EXPECT_EQ(Places(), (std::set<Id>{1, 2}));
  Look(10);
  EXPECT_EQ(Places(), (std::set<Id>{2}));
  heard_[2] = 8;
  Look(17);
  EXPECT_EQ(Places(), (std::set<Id>{2}));
  Look(18);  // its bytes do not go on
  EXPECT_EQ(Places(), std::set<Id>());
  Look(30);
  EXPECT_EQ(Places(), std::set<Id>());
}

// As after a time in which the thread that reads them had no CPU.
TEST_F(StartedPartsTest, BytesThatWereNotReadYetAreNoStall) {
  Begin(1, 0);
  LookOnce(50);
  heard_[1] = 50;
  LookOnce(100);
  heard_[1] = 100;
  LookOnce(150);
  EXPECT_EQ(Places(), (std::set<Id>{1}));
  LookOnce(151);
  EXPECT_EQ(Places(), std::set<Id>());
}

TEST_F(StartedPartsTest, APartThatGoesOnTakesAPlaceAgain) {
  Begin(1, 0);
  Look(10);
  heard_[1] = 15;
  Look(16);
  EXPECT_EQ(Places(), (std::set<Id>{1}));
  Look(25);
  EXPECT_EQ(Places(), std::set<Id>());
  parts_.End(1);
  EXPECT_TRUE(parts_.empty());
  EXPECT_EQ(parts_.bytes(), 0u);
}

TEST_F(StartedPartsTest, APartThatPausesHasNoPlaceUntilItIsItsTurn) {
  Begin(1, 0);
  Begin(2, 0);
  parts_.Pause(2);
  parts_.Pause(1);
  EXPECT_EQ(Places(), std::set<Id>());
  EXPECT_EQ(parts_.TakeNext(5), std::nullopt);
  heard_[1] = heard_[2] = 5;
  Look(6);
  EXPECT_EQ(Places(), std::set<Id>());
  parts_.MakeReady(2);
  parts_.MakeReady(1);
  Look(7);
  EXPECT_EQ(Places(), std::set<Id>());
  EXPECT_EQ(parts_.TakeNext(20), 2u);
  EXPECT_EQ(Places(), (std::set<Id>{2}));
  EXPECT_EQ(parts_.TakeNext(20), 1u);
  EXPECT_EQ(parts_.TakeNext(20), std::nullopt);
  Look(29);  // from the begin of the next attempt on
  EXPECT_EQ(Places(), (std::set<Id>{1, 2}));
  Look(30);
  EXPECT_EQ(Places(), std::set<Id>());
}

TEST_F(StartedPartsTest, AStalledPartMayPause) {
  Begin(1, 0);
  Look(10);
  parts_.Pause(1);
  EXPECT_EQ(Places(), std::set<Id>());
  parts_.MakeReady(1);
  EXPECT_EQ(parts_.TakeNext(20), 1u);
  EXPECT_EQ(Places(), (std::set<Id>{1}));
}

TEST_F(StartedPartsTest, PartsMayEndInAnyState) {
  for (Id id = 1; id <= 4; ++id) Begin(id, 0);
  Look(10);
  Begin(5, 10);
  parts_.Pause(2);
  parts_.MakeReady(3);
  parts_.MakeReady(4);
  for (Id id : {1, 2, 3, 5}) parts_.End(id);
  places_.erase(5);
  EXPECT_EQ(Places(), std::set<Id>());
  EXPECT_EQ(parts_.TakeNext(20), 4u);
  parts_.End(7);
  parts_.Pause(7);
  parts_.MakeReady(7);
  EXPECT_EQ(parts_.TakeNext(20), std::nullopt);
  EXPECT_FALSE(parts_.empty());
}

}  // namespace
}  // namespace forebay::storage::http
