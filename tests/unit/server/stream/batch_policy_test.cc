#include "server/stream/batch_policy.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace forebay::stream {
namespace {

constexpr std::uint64_t kEpoch = 1000;

// Of an open member whose trainer waits for what goes on.
BatchRequest At(std::uint64_t position, double served = 0) {
  return {.member = 1,
          .key = {position / kEpoch, position % kEpoch},
          .position = position,
          .left = kEpoch - position % kEpoch,
          .open = true,
          .hungry = true,
          .claims = true,
          .served = served};
}

TEST(BatchPolicyTest, TheLeaderGivesWayIfItHasEnoughLeft) {
  EXPECT_TRUE(GivesWay(At(300), At(0)));
  EXPECT_FALSE(GivesWay(At(400), At(0))) << "600 are not twice 400";
  EXPECT_FALSE(GivesWay(At(0), At(300))) << "who is behind never does";
  EXPECT_FALSE(GivesWay(At(300), At(300))) << "nor who is beside";
  EXPECT_TRUE(GivesWay(At(1010), At(990))) << "over an epoch's end";
  EXPECT_FALSE(GivesWay(At(5010), At(10)));
}

TEST(BatchPolicyTest, WhoCatchesUpComesFirstHoweverMuchItHad) {
  EXPECT_EQ(NextRequest({At(300, 1), At(0, 99)}), 1);
  EXPECT_EQ(NextRequest({At(0, 99), At(300, 1)}), 0);
}

TEST(BatchPolicyTest, ElseWhoHadLeast) {
  EXPECT_EQ(NextRequest({At(900, 7), At(0, 5)}), 1);
  EXPECT_EQ(NextRequest({At(900, 5), At(0, 7)}), 0);
}

TEST(BatchPolicyTest, OnlyWhoClaimsItIsGivenWayTo) {
  BatchRequest fed = At(0, 99);
  fed.claims = false;
  EXPECT_EQ(NextRequest({At(300, 1), fed}), 0);
}

// It has all in the making that it may: it needs the workers all the same.
TEST(BatchPolicyTest, WhoCanHaveNoMoreIsGivenWayTo) {
  BatchRequest full = At(0);
  full.open = false;
  EXPECT_EQ(NextRequest({At(300), full}), std::nullopt);
  EXPECT_EQ(NextRequest({At(900), full}), 0);
  EXPECT_EQ(NextRequest({full}), std::nullopt);
  EXPECT_EQ(NextRequest({}), std::nullopt);
}

// 300 waits for 250, and 900 for nobody.
TEST(BatchPolicyTest, ThoseWhoWaitAreOutOfTheQuestion) {
  EXPECT_EQ(NextRequest({At(300, 0), At(250, 9), At(900, 8)}), 2);
  EXPECT_EQ(NextRequest({At(300, 0), At(250, 8), At(900, 9)}), 1);
}

}  // namespace
}  // namespace forebay::stream
