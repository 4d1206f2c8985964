#include "server/storage/local/mount.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string_view>

#include "server/base/fd.h"

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

TEST(MountTest, FindsWhatAMountIs) {
  const auto local = FindMount(kMountinfo, "254:0");
  ASSERT_TRUE(local.has_value());
  EXPECT_EQ(local->type, "ext4");
  EXPECT_EQ(local->source, "/dev/vda");
  EXPECT_FALSE(IsNetworkFileSystem(*local));
  const auto nfs = FindMount(kMountinfo, "0:51");
  ASSERT_TRUE(nfs.has_value());
  EXPECT_EQ(nfs->type, "nfs4");
  EXPECT_EQ(nfs->source, "server:/export");
  EXPECT_TRUE(IsNetworkFileSystem(*nfs));
  EXPECT_TRUE(IsNetworkFileSystem(*FindMount(kMountinfo, "0:52")));
  EXPECT_FALSE(IsNetworkFileSystem(*FindMount(kMountinfo, "0:53")));
}

TEST(MountTest, OfSeveralMountsOneIsAlwaysTheSame) {
  EXPECT_EQ(FindMount(kMountinfo, "0:56")->source, "server:/a");
}

TEST(MountTest, FindsNothingWhereNothingIsSaid) {
  for (const char* device : {"", "0", "0:54", "0:55", "0:57", "/"}) {
    EXPECT_FALSE(FindMount(kMountinfo, device).has_value()) << device;
  }
  EXPECT_FALSE(FindMount("", "0:51").has_value());
}

TEST(MountTest, KnowsWhatAnOpenDirectoryLiesIn) {
  const base::Fd proc(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto mount = MountOf(proc.get());
  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->type, "proc");
  EXPECT_FALSE(MountOf(-1).has_value());
}

}  // namespace
}  // namespace forebay::storage::local
