#include "server/storage/local/revision_parts.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "server/storage/local/local_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/skip.h"
#include "tests/catch/suite.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

// The magic numbers are those that statfs(2) lists.
TEST_CASE("The parts of a file's revision depend on the file system",
          "[local][revision_parts]") {
  constexpr RevisionParts kBoth = {.inode = true, .ctime = true};
  CHECK(RevisionPartsOf(0xEF53) == kBoth);      // ext2 to ext4
  CHECK(RevisionPartsOf(0x58465342) == kBoth);  // xfs
  CHECK(RevisionPartsOf(0x9123683E) == kBoth);  // btrfs
  CHECK(RevisionPartsOf(0xF2F52010) == kBoth);  // f2fs
  CHECK(RevisionPartsOf(0x01021994) == kBoth);  // tmpfs
  constexpr RevisionParts kInode = {.inode = true, .ctime = false};
  CHECK(RevisionPartsOf(0x6969) == kInode);               // NFS
  CHECK(RevisionPartsOf(0x65735546) == RevisionParts());  // FUSE
  CHECK(RevisionPartsOf(0x794C7630) == RevisionParts());  // overlayfs
  CHECK(RevisionPartsOf(0xFF534D42) == RevisionParts());  // CIFS
}

TEST_CASE("The parts of a file's revision say what counts in it",
          "[local][revision_parts]") {
  struct stat stat = {};
  stat.st_ino = 5;
  stat.st_ctim = {2, 3};
  CHECK(RevisionOf(stat, {.inode = true, .ctime = true}) ==
        Revision{5, 2'000'000'003});
  CHECK(RevisionOf(stat, {.inode = true, .ctime = false}) == Revision{5, 0});
  CHECK(RevisionOf(stat, {}) == Revision());
}

// Runs in tmpfs, and on the test's own file system if that is one of those
// above.
class RevisionTest {
 public:
  // A folder; "" means the test's own.
  using Subject = std::string;

  explicit RevisionTest(const Subject& parent) {
    folder_ = parent.empty() ? scratch_.Path() : parent;
    folder_ += "/forebay_revision_XXXXXX";
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    root_ = *LocalRoot::Create(
        base::Fd(open(folder_.c_str(), O_PATH | O_DIRECTORY)), folder_);
    if (!root_->on_this_host()) SKIP("a file system of another kind");
    std::ofstream(folder_ + "/x") << "content";
    before_ = root_->Stat("x")->version();
    // Waits until files get a later ctime, however coarse the clock is.
    for (int i = 0; Ctime() <= before_.revision.ctime_nanos; ++i)
      std::ofstream(folder_ + "/tick") << i;
  }
  ~RevisionTest() { std::filesystem::remove_all(folder_); }

 protected:
  std::int64_t Ctime() {
    const auto tick = root_->Stat("tick");
    return tick.ok() ? tick->revision.ctime_nanos : 0;
  }
  void SetTime(const std::string& name) const {
    const timespec time = {before_.stamp / 1'000'000'000,
                           before_.stamp % 1'000'000'000};
    const timespec times[2] = {time, time};
    REQUIRE(utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), times, 0) == 0);
  }
  void ExpectOnlyTheCtimeToDiffer() {
    const ObjectVersion now = root_->Stat("x")->version();
    CHECK(now.size == before_.size);
    CHECK(now.stamp == before_.stamp);
    CHECK(now.revision.inode == before_.revision.inode);
    CHECK(now.revision.ctime_nanos != before_.revision.ctime_nanos);
    CHECK_FALSE(root_->StillHas("x", before_));
    CHECK(root_->StillHas("x", now));
  }

  const ScratchDir scratch_;
  std::string folder_;
  std::shared_ptr<const LocalRoot> root_;
  ObjectVersion before_;
};

SUITE_CASE(RevisionTest,
           "A file's revision stays the same where nothing happens",
           "[local][revision_parts]") {
  CHECK(before_.revision.inode != 0);
  CHECK(before_.revision.ctime_nanos != 0);
  CHECK(root_->StillHas("x", before_));
  std::ifstream(folder_ + "/x").get();
  CHECK(root_->StillHas("x", before_));
}

SUITE_CASE(RevisionTest,
           "A revision tells that another file was renamed to a file's name",
           "[local][revision_parts]") {
  std::ofstream(folder_ + "/y") << "CONTENT";
  SetTime("y");
  std::filesystem::rename(folder_ + "/y", folder_ + "/x");
  const ObjectVersion now = root_->Stat("x")->version();
  CHECK(now.size == before_.size);
  CHECK(now.stamp == before_.stamp);
  CHECK(now.revision.inode != before_.revision.inode);
  CHECK_FALSE(root_->StillHas("x", before_));
}

SUITE_CASE(RevisionTest, "A revision tells that a file was written over",
           "[local][revision_parts]") {
  std::fstream(folder_ + "/x", std::ios::in | std::ios::out) << "CONTENT";
  SetTime("x");
  ExpectOnlyTheCtimeToDiffer();
}

SUITE_CASE(RevisionTest, "A revision tells that a file's mode changed",
           "[local][revision_parts]") {
  REQUIRE(chmod((folder_ + "/x").c_str(), 0640) == 0);
  ExpectOnlyTheCtimeToDiffer();
}

SUITE_CASE(RevisionTest, "A revision tells that a file has a further name",
           "[local][revision_parts]") {
  std::filesystem::create_hard_link(folder_ + "/x", folder_ + "/link");
  ExpectOnlyTheCtimeToDiffer();
}

const tests::RunsOn<RevisionTest> kFolders({{"the test's folder", ""},
                                            {"/dev/shm", "/dev/shm"}});

}  // namespace
}  // namespace forebay::storage::local
