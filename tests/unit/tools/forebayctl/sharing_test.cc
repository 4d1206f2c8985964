#include "tools/forebayctl/sharing.h"

#include <gtest/gtest.h>

namespace forebay::ctl {
namespace {

using proto::LoaderSharing;

std::string Text(LoaderSharing::SharingState standing, std::uint32_t members,
                 std::uint64_t behind) {
  proto::Loader loader;
  loader.set_running(true);
  loader.mutable_sharing()->set_standing(standing);
  loader.mutable_sharing()->set_members(members);
  loader.mutable_sharing()->set_behind(behind);
  return Sharing(loader);
}

TEST(SharingTest, SaysHowEqualJobsOfUserCodeShare) {
  proto::Loader loader;
  loader.set_running(true);
  loader.mutable_sharing()->set_lacks_key(true);
  EXPECT_EQ(Sharing(loader), "alone (equal jobs share by share_key=)");
  loader.mutable_sharing()->set_lacks_key(false);
  loader.mutable_sharing()->set_iterated_alone(true);
  EXPECT_EQ(Sharing(loader), "alone (equal jobs share by forebay.share)");
}

TEST(SharingTest, SaysWithHowManyAndWhatIsDoneAboutTheGap) {
  EXPECT_EQ(Text(LoaderSharing::ALONE, 1, 0), "alone");
  EXPECT_EQ(Text(LoaderSharing::TOGETHER, 2, 0), "with 1 other");
  EXPECT_EQ(Text(LoaderSharing::TOGETHER, 4, 0), "with 3 others");
  EXPECT_EQ(Text(LoaderSharing::TOGETHER, 4, 64), "with 3 others, 64 behind");
  EXPECT_EQ(Text(LoaderSharing::TRAILING, 2, 1234),
            "1,234 behind, reads what is kept");
  EXPECT_EQ(Text(LoaderSharing::CATCHING, 2, 1234), "1,234 behind, catches up");
  EXPECT_EQ(Text(LoaderSharing::YIELDING, 2, 0), "gives way");
  EXPECT_EQ(Text(LoaderSharing::YIELDING, 3, 8), "8 behind, gives way");
  EXPECT_EQ(Text(LoaderSharing::APART, 2, 0), "apart");
  EXPECT_EQ(Text(LoaderSharing::APART, 2, 99'999), "99,999 behind, apart");
}

TEST(SharingTest, WhoHasNoEpochUnderWaySharesNothing) {
  EXPECT_EQ(Sharing(proto::Loader()), "-");
}

// Of a daemon that is newer than the tool, or of one that is older.
TEST(SharingTest, WhatIsUnknownIsAlone) {
  EXPECT_EQ(Text(static_cast<LoaderSharing::SharingState>(99), 2, 5), "alone");
  proto::Loader loader;
  loader.set_running(true);
  EXPECT_EQ(Sharing(loader), "alone");
}

}  // namespace
}  // namespace forebay::ctl
