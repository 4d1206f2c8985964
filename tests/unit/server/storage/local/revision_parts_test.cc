#include "server/storage/local/revision_parts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "server/storage/local/local_root.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

// Magic numbers as statfs(2) lists them.
TEST(RevisionPartsTest, DependOnTheFileSystem) {
  constexpr RevisionParts kBoth = {.inode = true, .ctime = true};
  EXPECT_EQ(RevisionPartsOf(0xEF53), kBoth);      // ext2 to ext4
  EXPECT_EQ(RevisionPartsOf(0x58465342), kBoth);  // xfs
  EXPECT_EQ(RevisionPartsOf(0x9123683E), kBoth);  // btrfs
  EXPECT_EQ(RevisionPartsOf(0xF2F52010), kBoth);  // f2fs
  EXPECT_EQ(RevisionPartsOf(0x01021994), kBoth);  // tmpfs
  constexpr RevisionParts kInode = {.inode = true, .ctime = false};
  EXPECT_EQ(RevisionPartsOf(0x6969), kInode);               // NFS
  EXPECT_EQ(RevisionPartsOf(0x65735546), RevisionParts());  // FUSE
  EXPECT_EQ(RevisionPartsOf(0x794C7630), RevisionParts());  // overlayfs
  EXPECT_EQ(RevisionPartsOf(0xFF534D42), RevisionParts());  // CIFS
}

TEST(RevisionPartsTest, SayWhatCounts) {
  struct stat stat = {};
  stat.st_ino = 5;
  stat.st_ctim = {2, 3};
  EXPECT_EQ(RevisionOf(stat, {.inode = true, .ctime = true}),
            (Revision{5, 2'000'000'003}));
  EXPECT_EQ(RevisionOf(stat, {.inode = true, .ctime = false}),
            (Revision{5, 0}));
  EXPECT_EQ(RevisionOf(stat, {}), Revision());
}

// Runs on the test's own file system, if it is one of those, and on tmpfs.
class RevisionTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = GetParam().empty() ? scratch_.Path() : GetParam();
    folder_ += "/forebay_revision_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    root_ = *LocalRoot::Create(
        base::Fd(open(folder_.c_str(), O_PATH | O_DIRECTORY)), folder_);
    if (!root_->on_this_host()) GTEST_SKIP() << "a file system of another kind";
    std::ofstream(folder_ + "/x") << "content";
    before_ = root_->Stat("x")->version();
    // Waits until files get a later ctime, however coarse the clock is.
    for (int i = 0; Ctime() <= before_.revision.ctime_nanos; ++i)
      std::ofstream(folder_ + "/tick") << i;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::int64_t Ctime() {
    const auto tick = root_->Stat("tick");
    return tick.ok() ? tick->revision.ctime_nanos : 0;
  }
  void SetTime(const std::string& name) const {
    const timespec time = {before_.stamp / 1'000'000'000,
                           before_.stamp % 1'000'000'000};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), times, 0), 0);
  }
  void ExpectOnlyTheCtimeToDiffer() {
    const ObjectVersion now = root_->Stat("x")->version();
    EXPECT_EQ(now.size, before_.size);
    EXPECT_EQ(now.stamp, before_.stamp);
    EXPECT_EQ(now.revision.inode, before_.revision.inode);
    EXPECT_NE(now.revision.ctime_nanos, before_.revision.ctime_nanos);
    EXPECT_FALSE(root_->StillHas("x", before_));
    EXPECT_TRUE(root_->StillHas("x", now));
  }

  const ScratchDir scratch_;
  std::string folder_;
  std::shared_ptr<const LocalRoot> root_;
  ObjectVersion before_;
};

TEST_P(RevisionTest, StaysWhereNothingHappens) {
  EXPECT_NE(before_.revision.inode, 0);
  EXPECT_NE(before_.revision.ctime_nanos, 0);
  EXPECT_TRUE(root_->StillHas("x", before_));
  std::ifstream(folder_ + "/x").get();
  EXPECT_TRUE(root_->StillHas("x", before_));
}

TEST_P(RevisionTest, TellsAFileThatWasRenamedToIt) {
  std::ofstream(folder_ + "/y") << "CONTENT";
  SetTime("y");
  std::filesystem::rename(folder_ + "/y", folder_ + "/x");
  const ObjectVersion now = root_->Stat("x")->version();
  EXPECT_EQ(now.size, before_.size);
  EXPECT_EQ(now.stamp, before_.stamp);
  EXPECT_NE(now.revision.inode, before_.revision.inode);
  EXPECT_FALSE(root_->StillHas("x", before_));
}

TEST_P(RevisionTest, TellsAFileThatWasWrittenOver) {
  std::fstream(folder_ + "/x", std::ios::in | std::ios::out) << "CONTENT";
  SetTime("x");
  ExpectOnlyTheCtimeToDiffer();
}

TEST_P(RevisionTest, TellsOneWhoseModeChanged) {
  ASSERT_EQ(chmod((folder_ + "/x").c_str(), 0640), 0);
  ExpectOnlyTheCtimeToDiffer();
}

TEST_P(RevisionTest, TellsOneThatHasAFurtherName) {
  std::filesystem::create_hard_link(folder_ + "/x", folder_ + "/link");
  ExpectOnlyTheCtimeToDiffer();
}

INSTANTIATE_TEST_SUITE_P(FileSystems, RevisionTest,
                         ::testing::Values("", "/dev/shm"));

}  // namespace
}  // namespace forebay::storage::local
