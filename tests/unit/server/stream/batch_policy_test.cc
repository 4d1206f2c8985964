#include "server/stream/batch_policy.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "proto/job.pb.h"
#include "server/sampler/sampler.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kEpoch = 1000;

// The request of an open member with a waiting trainer. Members ahead of it may
// give way to it.
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

// The member behind may have no more batches in flight. The leader gives way
// all the same, because that member needs the workers.
TEST(BatchPolicyTest, WhoCanHaveNoMoreIsGivenWayTo) {
  BatchRequest full = At(0);
  full.open = false;
  EXPECT_EQ(NextRequest({At(300), full}), std::nullopt);
  EXPECT_EQ(NextRequest({At(900), full}), 0);
  EXPECT_EQ(NextRequest({full}), std::nullopt);
  EXPECT_EQ(NextRequest({}), std::nullopt);
}

// The member at 300 gives way to the one at 250; the one at 900 gives way to
// nobody.
TEST(BatchPolicyTest, ThoseWhoWaitAreOutOfTheQuestion) {
  EXPECT_EQ(NextRequest({At(300, 0), At(250, 9), At(900, 8)}), 2);
  EXPECT_EQ(NextRequest({At(300, 0), At(250, 8), At(900, 9)}), 1);
}

// The eviction of a batch that took 10 ns to make and stands before the
// requested one.
Eviction For(const std::vector<Eviction::Reader>& readers) {
  return {.readers = readers, .made_nanos = 10, .is_before = true};
}
constexpr Eviction::Reader kSoon = {.nanos = 40};
constexpr Eviction::Reader kLater = {.nanos = 41};

TEST(BatchPolicyTest, ABatchThatIsReadBeforeItCouldBeMadeAgainStays) {
  EXPECT_TRUE(MayEvict(For({})));
  EXPECT_TRUE(MayEvict(For({kLater})));
  EXPECT_FALSE(MayEvict(For({kLater, kSoon})));
  EXPECT_TRUE(MayEvict(For({{.nanos = 40, .capped = true}})));
  EXPECT_FALSE(MayEvict(For({{.nanos = 99, .is_requester = true}})))
      << "the requester reads it first";
  const std::vector<Eviction::Reader> soon = {kSoon};
  Eviction behind = For(soon);
  behind.is_before = false;
  EXPECT_TRUE(MayEvict(behind));
}

TEST(BatchPolicyTest, InLockstepABatchThatAnybodyReadsStays) {
  const std::vector<Eviction::Reader> later = {kLater};
  Eviction eviction = For(later);
  eviction.sharing_mode = SharingMode::kLockstep;
  EXPECT_FALSE(MayEvict(eviction));
  eviction.readers = {};
  EXPECT_TRUE(MayEvict(eviction));
}

TEST(BatchPolicyTest, ASlotThatIsBeingMadeIsWaitedFor) {
  Eviction eviction = For({});
  eviction.grows = true;
  EXPECT_FALSE(MayEvict(eviction));
  eviction.hungry = true;
  EXPECT_FALSE(MayEvict(eviction)) << "workers have batches to make";
  eviction.none_in_flight = true;
  EXPECT_TRUE(MayEvict(eviction));
}

// Even a batch that is read soon gives up its slot: no worker idles while a
// trainer waits.
TEST(BatchPolicyTest, WhileAllHangsATrainerThatWaitsGetsTheSlot) {
  const std::vector<Eviction::Reader> soon = {kSoon};
  Eviction eviction = For(soon);
  eviction.hangs = true;
  EXPECT_FALSE(MayEvict(eviction));
  eviction.has_nothing = true;
  EXPECT_TRUE(MayEvict(eviction));
  eviction.has_nothing = false;
  eviction.hungry = true;
  EXPECT_TRUE(MayEvict(eviction));
}

class SharingTest : public ::testing::Test {
 protected:
  SharingTest() {
    proto::SamplerSpec spec;
    spec.set_order(proto::SamplerSpec::SEQUENTIAL);
    epochs_ = EpochPair::Of(*sampler::Sampler::Create(spec, kEpoch), 0);
  }

  // A member with 4 slots that stands at `position` of epoch 0.
  MemberView View(std::uint64_t position) {
    cursors_.emplace_back(batch_).Start(epochs_, position);
    return {.cursor = &cursors_.back(), .slots = 4};
  }
  static MemberView Requesting(MemberView view, std::uint64_t position) {
    view.request = At(position);
    return view;
  }

  const BatchOptions batch_ = {.size = 10};
  std::shared_ptr<const EpochPair> epochs_;
  std::deque<Cursor> cursors_;
};

TEST_F(SharingTest, OneMemberIsAlone) {
  EXPECT_EQ(SharingOf({View(0)}, 0).state, SharingState::kAlone);
}

TEST_F(SharingTest, MembersWithinTheirSlotsAreTogether) {
  const std::vector<MemberView> members = {View(40), View(0)};
  EXPECT_EQ(SharingOf(members, 0).state, SharingState::kTogether);
  EXPECT_EQ(SharingOf(members, 0).behind, 0u);
  EXPECT_EQ(SharingOf(members, 1).state, SharingState::kTogether);
  EXPECT_EQ(SharingOf(members, 1).behind, 40u);
}

TEST_F(SharingTest, WhoReadsCachedBatchesFarBehindTrails) {
  MemberView behind = View(0);
  const MemberView ahead = View(500);
  EXPECT_EQ(SharingOf({behind, ahead}, 0).state, SharingState::kApart);
  behind.has_next = true;
  EXPECT_EQ(SharingOf({behind, ahead}, 0).state, SharingState::kTrailing);
  EXPECT_EQ(SharingOf({behind, ahead}, 0).behind, 500u);
}

TEST_F(SharingTest, TheLeaderYieldsToTheFollowerThatCatchesUp) {
  const std::vector<MemberView> members = {Requesting(View(300), 300),
                                           Requesting(View(0), 0)};
  EXPECT_EQ(SharingOf(members, 0).state, SharingState::kYielding);
  EXPECT_EQ(SharingOf(members, 1).state, SharingState::kCatching);
}

// The leader has too little of its epoch left to give way.
TEST_F(SharingTest, MembersThatDoNotMeetAreApart) {
  const std::vector<MemberView> members = {Requesting(View(905), 905),
                                           Requesting(View(0), 0)};
  EXPECT_EQ(SharingOf(members, 0).state, SharingState::kApart);
  EXPECT_EQ(SharingOf(members, 1).state, SharingState::kApart);
}

}  // namespace
}  // namespace forebay::stream
