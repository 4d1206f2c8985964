#include "server/storage/local/mount.h"

#include <fcntl.h>

#include <string_view>

#include "server/base/fd.h"
#include "tests/catch/catch.h"

namespace forebay::storage::local {
namespace {

constexpr std::string_view kMountinfo =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "23 22 0:5 / /dev rw - devtmpfs none rw\n"
    "36 22 0:51 /deep\\040er /mnt/a\\040b rw master:1 propagate_from:2 - nfs4 "
    "server:/export rw,vers=4.2\n"
    "37 22 0:52 / /mnt/b rw - cifs //server/share rw\n"
    "38 22 0:53 / /mnt/c rw - fuse.sshfs user@host: rw\n"
    "39 22 0:54 / /mnt/d rw shared:3\n"
    "40 22 0:55 / /mnt/e rw -\n"
    "41 22 0:56 /b /mnt/f rw - nfs server:/b rw\n"
    "42 22 0:56 /a /mnt/g rw - nfs server:/a rw\n"
    "43 22 0:5";

TEST_CASE("The mount table tells the type and source of a mount",
          "[local][mount]") {
  const auto local = FindMount(kMountinfo, "254:0");
  REQUIRE(local.has_value());
  CHECK(local->type == "ext4");
  CHECK(local->source == "/dev/vda");
  CHECK_FALSE(IsNetworkFileSystem(*local));
  const auto nfs = FindMount(kMountinfo, "0:51");
  REQUIRE(nfs.has_value());
  CHECK(nfs->type == "nfs4");
  CHECK(nfs->source == "server:/export");
  CHECK(IsNetworkFileSystem(*nfs));
  CHECK(IsNetworkFileSystem(*FindMount(kMountinfo, "0:52")));
  CHECK_FALSE(IsNetworkFileSystem(*FindMount(kMountinfo, "0:53")));
}

TEST_CASE("The mount table always gives the same one of several mounts",
          "[local][mount]") {
  CHECK(FindMount(kMountinfo, "0:56")->source == "server:/a");
}

TEST_CASE("The mount table gives no mount where nothing is said of it",
          "[local][mount]") {
  for (const char* device : {"", "0", "0:54", "0:55", "0:57", "/"}) {
    CAPTURE(device);
    CHECK_FALSE(FindMount(kMountinfo, device).has_value());
  }
  CHECK_FALSE(FindMount("", "0:51").has_value());
}

TEST_CASE("The mount that an open directory lies in is known",
          "[local][mount]") {
  const base::Fd proc(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto mount = MountOf(proc.get());
  REQUIRE(mount.has_value());
  CHECK(mount->type == "proc");
  CHECK_FALSE(MountOf(-1).has_value());
}

}  // namespace
}  // namespace forebay::storage::local
