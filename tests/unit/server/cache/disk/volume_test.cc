#include "server/cache/disk/volume.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kBytes = 4 * kPageBytes;

int ModeOf(const std::string& path) {
  struct stat stat;
  return lstat(path.c_str(), &stat) == 0 ? stat.st_mode & 07777 : -1;
}

class VolumeTest : public testing::Test {
 protected:
  const storage::local::ScratchDir scratch_;
  const std::string path_ = scratch_.Path("tier");
};

TEST_F(VolumeTest, IsOursAlone) {
  auto volume = *Directory::Lock(path_);
  EXPECT_EQ(ModeOf(path_), 0700);
  const base::Fd file(volume->Create("a", kBytes));
  ASSERT_TRUE(file);
  EXPECT_EQ(ModeOf(path_ + "/a"), 0600);
  EXPECT_EQ(ModeOf(path_ + "/lock"), 0600);
  EXPECT_EQ(volume->Size(file.get()), kBytes);
  std::vector<std::string> names;
  EXPECT_EQ(volume->List(&names), 0);
  EXPECT_THAT(names, ElementsAre("a"));
}

TEST_F(VolumeTest, HasOneUserAtATime) {
  auto volume = *Directory::Lock(path_);
  const auto second = Directory::Lock(path_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(path_));
  volume = nullptr;
  EXPECT_TRUE(Directory::Lock(path_).ok());
}

TEST_F(VolumeTest, RefusesADirectoryThatIsOpenToOthersOrNone) {
  std::filesystem::create_directory(path_);
  std::filesystem::permissions(path_, std::filesystem::perms(0750));
  EXPECT_EQ(Directory::Lock(path_).status().code(),
            absl::StatusCode::kPermissionDenied);
  std::filesystem::permissions(path_, std::filesystem::perms(0700));
  scratch_.Link("link", "tier");
  EXPECT_EQ(Directory::Lock(scratch_.Path("link")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  scratch_.Write("file", "");
  EXPECT_EQ(Directory::Lock(scratch_.Path("file")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Directory::Lock(scratch_.Path("a/b/c")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(VolumeTest, FollowsNoLinksAndOpensRegularFilesOnly) {
  auto volume = *Directory::Lock(path_);
  scratch_.Write("elsewhere", "content");
  scratch_.Link("tier/link", "../elsewhere");
  EXPECT_EQ(volume->Open("link"), -ELOOP);
  EXPECT_EQ(volume->Create("link", kBytes), -EEXIST);
  ASSERT_EQ(mkfifo((path_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(volume->Open("fifo"), -EPERM);
  EXPECT_EQ(volume->Open("missing"), -ENOENT);
  EXPECT_EQ(volume->Remove("missing"), -ENOENT);
}

TEST_F(VolumeTest, GivesBackWhatWasWritten) {
  auto volume = *Directory::Lock(path_);
  SegmentFile file = {base::Fd(volume->Create("a", kBytes)), 1, kBytes};
  const PageBuffer written(2 * kPageBytes);
  for (std::size_t i = 0; i < written.span().size(); ++i) {
    written.span()[i] = static_cast<std::uint8_t>(i * 31);
  }
  EXPECT_TRUE(WritePages(*volume, file, written.span(), kPageBytes).ok());
  EXPECT_EQ(volume->Sync(file.fd.get()), 0);
  file.fd = base::Fd(volume->Open("a"));
  const PageBuffer read(2 * kPageBytes);
  EXPECT_TRUE(ReadPages(*volume, file, read.span(), kPageBytes).ok());
  EXPECT_TRUE(std::equal(read.span().begin(), read.span().end(),
                         written.span().begin()));
  // There is nothing after its end.
  const auto status = ReadPages(*volume, file, read.span(), kBytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(VolumeTest, MakesNoFileThatExceedsTheDisk) {
  auto volume = *Directory::Lock(path_);
  EXPECT_LT(volume->Create("huge", std::uint64_t{1} << 60), 0);
  std::vector<std::string> names;
  EXPECT_EQ(volume->List(&names), 0);
  EXPECT_THAT(names, IsEmpty());
}

}  // namespace
}  // namespace forebay::cache::disk
