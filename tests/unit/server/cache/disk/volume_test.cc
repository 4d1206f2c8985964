#include "server/cache/disk/volume.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

constexpr std::uint64_t kBytes = 4 * kPageBytes;

int ModeOf(const std::string& path) {
  struct stat stat;
  return lstat(path.c_str(), &stat) == 0 ? stat.st_mode & 07777 : -1;
}

class VolumeTest {
 protected:
  const storage::local::ScratchDir scratch_;
  const std::string path_ = scratch_.Path("tier");
};

TEST_CASE_METHOD(VolumeTest, "A disk tier's volume is open to its owner alone",
                 "[disk][volume]") {
  auto volume = *CacheDirectory::Lock(path_);
  CHECK(ModeOf(path_) == 0700);
  const base::Fd file(volume->Create("a", kBytes));
  REQUIRE(file);
  CHECK(ModeOf(path_ + "/a") == 0600);
  CHECK(ModeOf(path_ + "/lock") == 0600);
  CHECK(volume->Size(file.get()) == kBytes);
  std::vector<std::string> names;
  CHECK(volume->List(&names) == 0);
  CHECK_THAT(names, ElementsAre("a"));
}

TEST_CASE_METHOD(VolumeTest, "A disk tier's volume has one user at a time",
                 "[disk][volume]") {
  auto volume = *CacheDirectory::Lock(path_);
  const auto second = CacheDirectory::Lock(path_);
  CHECK_THAT(second, HasCode(absl::StatusCode::kAlreadyExists));
  CHECK_THAT(second.status().message(), Contains(path_));
  volume = nullptr;
  CHECK_THAT(CacheDirectory::Lock(path_), IsOk());
}

TEST_CASE_METHOD(VolumeTest,
                 "A disk tier's volume refuses a directory that is open to "
                 "others or is not one",
                 "[disk][volume]") {
  std::filesystem::create_directory(path_);
  std::filesystem::permissions(path_, std::filesystem::perms(0750));
  CHECK_THAT(CacheDirectory::Lock(path_),
             HasCode(absl::StatusCode::kPermissionDenied));
  std::filesystem::permissions(path_, std::filesystem::perms(0700));
  scratch_.Link("link", "tier");
  CHECK_THAT(CacheDirectory::Lock(scratch_.Path("link")),
             HasCode(absl::StatusCode::kFailedPrecondition));
  scratch_.Write("file", "");
  CHECK_THAT(CacheDirectory::Lock(scratch_.Path("file")),
             HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(CacheDirectory::Lock(scratch_.Path("a/b/c")),
             HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(
    VolumeTest,
    "A disk tier's volume follows no links and opens regular files only",
    "[disk][volume]") {
  auto volume = *CacheDirectory::Lock(path_);
  scratch_.Write("elsewhere", "content");
  scratch_.Link("tier/link", "../elsewhere");
  CHECK(volume->Open("link") == -ELOOP);
  CHECK(volume->Create("link", kBytes) == -EEXIST);
  REQUIRE(mkfifo((path_ + "/fifo").c_str(), 0600) == 0);
  CHECK(volume->Open("fifo") == -EPERM);
  CHECK(volume->Open("missing") == -ENOENT);
  CHECK(volume->Remove("missing") == -ENOENT);
}

TEST_CASE_METHOD(VolumeTest,
                 "A disk tier's volume gives back what was written to it",
                 "[disk][volume]") {
  auto volume = *CacheDirectory::Lock(path_);
  SegmentFile file = {base::Fd(volume->Create("a", kBytes)), 1, kBytes};
  const PageBuffer written(2 * kPageBytes);
  for (std::size_t i = 0; i < written.span().size(); ++i) {
    written.span()[i] = static_cast<std::uint8_t>(i * 31);
  }
  CHECK_THAT(WritePages(*volume, file, written.span(), kPageBytes), IsOk());
  CHECK(volume->Sync(file.fd.get()) == 0);
  file.fd = base::Fd(volume->Open("a"));
  const PageBuffer read(2 * kPageBytes);
  CHECK_THAT(ReadPages(*volume, file, read.span(), kPageBytes), IsOk());
  CHECK(std::equal(read.span().begin(), read.span().end(),
                   written.span().begin()));
  // The read lies past the file's end.
  const auto status = ReadPages(*volume, file, read.span(), kBytes);
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(VolumeTest,
                 "A disk tier's volume makes no file that exceeds the disk",
                 "[disk][volume]") {
  auto volume = *CacheDirectory::Lock(path_);
  CHECK(volume->Create("huge", std::uint64_t{1} << 60) < 0);
  std::vector<std::string> names;
  CHECK(volume->List(&names) == 0);
  CHECK_THAT(names, IsEmpty());
}

}  // namespace
}  // namespace forebay::cache::disk
