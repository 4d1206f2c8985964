#include "tools/forebayctl/sharing.h"

#include "tests/catch/catch.h"

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

TEST_CASE("The sharing column says how equal jobs of user code share",
          "[forebayctl][sharing]") {
  proto::Loader loader;
  loader.set_running(true);
  loader.mutable_sharing()->set_lacks_key(true);
  CHECK(Sharing(loader) == "alone (equal jobs share by share_key=)");
  loader.mutable_sharing()->set_lacks_key(false);
  loader.mutable_sharing()->set_iterated_alone(true);
  CHECK(Sharing(loader) == "alone (equal jobs share by forebay.share)");
}

TEST_CASE(
    "The sharing column says with how many and what is done about the gap",
    "[forebayctl][sharing]") {
  CHECK(Text(LoaderSharing::ALONE, 1, 0) == "alone");
  CHECK(Text(LoaderSharing::TOGETHER, 2, 0) == "with 1 other");
  CHECK(Text(LoaderSharing::TOGETHER, 4, 0) == "with 3 others");
  CHECK(Text(LoaderSharing::TOGETHER, 4, 64) == "with 3 others, 64 behind");
  CHECK(Text(LoaderSharing::TRAILING, 2, 1234) ==
        "1,234 behind, reads what is kept");
  CHECK(Text(LoaderSharing::CATCHING, 2, 1234) == "1,234 behind, catches up");
  CHECK(Text(LoaderSharing::YIELDING, 2, 0) == "gives way");
  CHECK(Text(LoaderSharing::YIELDING, 3, 8) == "8 behind, gives way");
  CHECK(Text(LoaderSharing::APART, 2, 0) == "apart");
  CHECK(Text(LoaderSharing::APART, 2, 99'999) == "99,999 behind, apart");
}

TEST_CASE("A loader without an epoch under way shares nothing",
          "[forebayctl][sharing]") {
  CHECK(Sharing(proto::Loader()) == "-");
}

// A daemon newer than the tool may send an unknown state, and an older one
// sends none.
TEST_CASE("A sharing state that is unknown is shown as alone",
          "[forebayctl][sharing]") {
  CHECK(Text(static_cast<LoaderSharing::SharingState>(99), 2, 5) == "alone");
  proto::Loader loader;
  loader.set_running(true);
  CHECK(Sharing(loader) == "alone");
}

}  // namespace
}  // namespace forebay::ctl
