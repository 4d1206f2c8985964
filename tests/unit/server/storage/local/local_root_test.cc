#include "server/storage/local/local_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LocalRootTest : public ::testing::Test {
 protected:
  LocalRootTest() {
    scratch_.Directory("train");
    scratch_.Directory("train/class_a");
    scratch_.Directory("other");
    scratch_.Write("train/class_a/x.jpg", "inside");
    scratch_.Write("other/y.jpg", "other");
  }

  std::shared_ptr<const LocalRoot> Root() {
    return *LocalRoot::Create(scratch_.Open("train"), scratch_.Path("train"));
  }

  // Returns a root with other/ as an extra root.
  std::shared_ptr<const LocalRoot> RootWithExtra() {
    std::vector<ExtraRoot> extra;
    extra.push_back({scratch_.Open("other"), scratch_.Path("other")});
    return *LocalRoot::Create(scratch_.Open("train"), scratch_.Path("train"),
                              std::move(extra));
  }

  static std::string Content(const LocalRoot& root, std::string_view path) {
    const absl::StatusOr<base::Fd> fd = root.Open(path);
    if (!fd.ok()) return fd.status().ToString();
    char buffer[64];
    const ssize_t length = read(fd->get(), buffer, sizeof(buffer));
    return length < 0 ? strerror(errno) : std::string(buffer, length);
  }

  static void ExpectOutside(const absl::Status& status, std::string_view path) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(std::string(path)));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("leads outside the dataset's root"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("extra_roots"));
  }

  const ScratchDir scratch_;
};

TEST_F(LocalRootTest, OpensWhatLiesBeneath) {
  EXPECT_EQ(Content(*Root(), "class_a/x.jpg"), "inside");
  EXPECT_EQ(Content(*Root(), "./class_a//x.jpg"), "inside");
  EXPECT_TRUE(Root()->OpenDirectory("").ok());
  EXPECT_TRUE(Root()->OpenDirectory("class_a").ok());
}

// The kernel is not sure where ".." leads while anything on the host is
// renamed.
TEST_F(LocalRootTest, OpensWhileOthersRename) {
  std::string path;
  for (int i = 0; i < 50; ++i) path += "class_a/../";
  path += "class_a/x.jpg";
  const std::string one = scratch_.Path("other/y.jpg");
  const std::string two = scratch_.Path("other/z.jpg");
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::rename(one.c_str(), two.c_str());
        std::rename(two.c_str(), one.c_str());
      }
    });
  }
  const auto root = Root();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Content(*root, path), "inside");
}

TEST_F(LocalRootTest, NamesWhatIsMissing) {
  const absl::Status status = Root()->Open("class_a/gone.jpg").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), StartsWith("class_a/gone.jpg: "));
  EXPECT_EQ(Root()->OpenDirectory("class_a/x.jpg").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LocalRootTest, RefusesPathsThatLeave) {
  ExpectOutside(Root()->Open("../other/y.jpg").status(), "../other/y.jpg");
  ExpectOutside(Root()->Open("class_a/../../other/y.jpg").status(), "class_a");
  ExpectOutside(Root()->Open("/etc/passwd").status(), "/etc/passwd");
  ExpectOutside(Root()->OpenDirectory("..").status(), "..");
  EXPECT_EQ(Root()->Open(std::string_view("class_a\0/x", 10)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalRootTest, FollowsLinksThatStay) {
  scratch_.Link("train/class_b", "class_a");
  scratch_.Link("train/class_a/relative.jpg", "../class_b/x.jpg");
  scratch_.Link("train/class_a/absolute.jpg",
                scratch_.Path("train/class_a/x.jpg"));
  scratch_.Link("train/class_a/out_and_in.jpg", "../../train/class_a/x.jpg");
  EXPECT_EQ(Content(*Root(), "class_b/x.jpg"), "inside");
  EXPECT_EQ(Content(*Root(), "class_a/relative.jpg"), "inside");
  EXPECT_EQ(Content(*Root(), "class_a/absolute.jpg"), "inside");
  EXPECT_EQ(Content(*Root(), "class_a/out_and_in.jpg"), "inside");
}

TEST_F(LocalRootTest, RefusesLinksThatLeave) {
  scratch_.Link("train/class_a/absolute.jpg", scratch_.Path("other/y.jpg"));
  scratch_.Link("train/class_a/relative.jpg", "../../other/y.jpg");
  scratch_.Link("train/class_a/twice.jpg", "relative.jpg");
  scratch_.Link("train/class_b", "../other");
  scratch_.Link("train/proc.jpg", "/proc/self/root/etc/passwd");
  for (std::string_view path :
       {"class_a/absolute.jpg", "class_a/relative.jpg", "class_a/twice.jpg",
        "class_b/y.jpg", "proc.jpg"}) {
    ExpectOutside(Root()->Open(path).status(), path);
    ExpectOutside(Root()->Stat(path).status(), path);
  }
  ExpectOutside(Root()->OpenDirectory("class_b").status(), "class_b");
}

TEST_F(LocalRootTest, FollowsLinksIntoAnExtraRoot) {
  scratch_.Link("train/class_a/absolute.jpg", scratch_.Path("other/y.jpg"));
  scratch_.Link("train/class_a/relative.jpg", "../../other/y.jpg");
  scratch_.Link("train/class_a/twice.jpg", "../class_c/relative.jpg");
  scratch_.Link("train/class_b", "../other");
  scratch_.Link("train/class_c", "class_a");
  scratch_.Link("other/back.jpg", "../train/class_a/x.jpg");
  const auto root = RootWithExtra();
  for (std::string_view path : {"class_a/absolute.jpg", "class_a/relative.jpg",
                                "class_a/twice.jpg", "class_b/y.jpg"})
    EXPECT_EQ(Content(*root, path), "other") << path;
  EXPECT_EQ(Content(*root, "class_b/back.jpg"), "inside");
  EXPECT_TRUE(root->OpenDirectory("class_b").ok());
}

TEST_F(LocalRootTest, AnExtraRootIsNotLeftEither) {
  scratch_.Write("other_secret/z.jpg", "secret");
  scratch_.Link("train/sibling.jpg", scratch_.Path("other_secret/z.jpg"));
  scratch_.Link("train/class_b", "../other");
  scratch_.Link("other/out.jpg", "../other_secret/z.jpg");
  const auto root = RootWithExtra();
  ExpectOutside(root->Open("sibling.jpg").status(), "sibling.jpg");
  ExpectOutside(root->Open("class_b/out.jpg").status(), "class_b/out.jpg");
  ExpectOutside(root->Open("class_b/../../other_secret/z.jpg").status(),
                "class_b");
}

TEST_F(LocalRootTest, IsFoundByItsOtherNames) {
  scratch_.Link("link", "train");
  scratch_.Link("folders", ".");
  const auto root = Root();
  for (const char* name : {"train", "link", "folders/link", "train/../train"}) {
    EXPECT_EQ(root->NameIn(scratch_.Path(name) + "/class_a/x.jpg"),
              scratch_.Path(name));
    EXPECT_EQ(root->NameIn(scratch_.Path(name) + "/gone/gone.jpg"),
              scratch_.Path(name));
  }
  for (const char* path : {"train", "other/y.jpg", "gone/x.jpg"})
    EXPECT_EQ(root->NameIn(scratch_.Path(path)), "") << path;
  EXPECT_EQ(root->NameIn("/"), "");
  EXPECT_EQ(root->NameIn(""), "");
}

TEST_F(LocalRootTest, LoopsOfLinksEnd) {
  scratch_.Link("train/a", "b");
  scratch_.Link("train/b", "a");
  scratch_.Link("train/c", scratch_.Path("train/d"));
  scratch_.Link("train/d", scratch_.Path("train/c"));
  for (std::string_view path : {"a", "c", "c/x"})
    EXPECT_EQ(Root()->Open(path).status().code(),
              absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalRootTest, SpecialFilesNeverHang) {
  ASSERT_EQ(mkfifo(scratch_.Path("train/fifo.jpg").c_str(), 0600), 0);
  EXPECT_TRUE(Root()->Open("fifo.jpg").ok());
  EXPECT_EQ(Root()->Stat("fifo.jpg")->type, FileType::kOther);
  ASSERT_EQ(mknod(scratch_.Path("train/s").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(Root()->Open("s").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalRootTest, StatsEntriesByTheSameRules) {
  scratch_.Link("train/class_a/link.jpg", "x.jpg");
  scratch_.Link("train/class_a/out.jpg", "../../other/y.jpg");
  scratch_.Link("train/class_a/broken.jpg", "nowhere");
  const auto root = Root();
  const base::Fd directory = *root->OpenDirectory("class_a");
  const FileStat direct = *root->StatEntry(directory.get(), "class_a", "x.jpg");
  EXPECT_EQ(direct.type, FileType::kRegular);
  EXPECT_EQ(direct.size, 6);
  struct stat expected;
  ASSERT_EQ(stat(scratch_.Path("train/class_a/x.jpg").c_str(), &expected), 0);
  EXPECT_EQ(direct.mtime_nanos,
            expected.st_mtim.tv_sec * 1'000'000'000 + expected.st_mtim.tv_nsec);
  EXPECT_EQ(direct.inode, expected.st_ino);
  EXPECT_EQ(direct.device, expected.st_dev);
  EXPECT_EQ(root->StatEntry(directory.get(), "class_a", "link.jpg")->inode,
            direct.inode);
  EXPECT_EQ(root->Stat("class_a")->type, FileType::kDirectory);
  ExpectOutside(root->StatEntry(directory.get(), "class_a", "out.jpg").status(),
                "class_a/out.jpg");
  EXPECT_EQ(
      root->StatEntry(directory.get(), "class_a", "broken.jpg").status().code(),
      absl::StatusCode::kNotFound);
  for (std::string_view name : {"", ".", "..", "../x", "a/b"})
    EXPECT_EQ(root->StatEntry(directory.get(), "class_a", name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
}

TEST_F(LocalRootTest, TakesDirectoriesOnly) {
  EXPECT_EQ(
      LocalRoot::Create(
          base::Fd(open(scratch_.Path("other/y.jpg").c_str(), O_RDONLY)), "/x")
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(LocalRoot::Create(base::Fd(), "/x").ok());
  std::vector<ExtraRoot> relative;
  relative.push_back({scratch_.Open("other"), "other"});
  EXPECT_EQ(LocalRoot::Create(scratch_.Open("train"), "/x", std::move(relative))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalRootTest, SameDirectoriesByTheSamePathsAreTheSame) {
  EXPECT_EQ(*Root()->identity(), *Root()->identity());
  EXPECT_EQ(*RootWithExtra()->identity(), *RootWithExtra()->identity());
  EXPECT_NE(*Root()->identity(), *RootWithExtra()->identity());
  const auto known_as = [this](const char* directory, std::string uri) {
    return *(*LocalRoot::Create(scratch_.Open(directory), std::move(uri)))
                ->identity();
  };
  EXPECT_EQ(known_as("train", "file://" + scratch_.Path("train") + "/"),
            *Root()->identity());
  EXPECT_NE(known_as("other", scratch_.Path("train")), *Root()->identity());
  // With another path, links of the same directory may lead elsewhere.
  EXPECT_NE(known_as("train", "/data"), *Root()->identity());
}

// A link that flips between inside and outside while it is opened is followed
// inside or refused, never followed outside.
TEST_F(LocalRootTest, RacesNeverLeadOutside) {
  const auto root = Root();
  std::jthread flipper([this](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      scratch_.Link("train/next", i % 2 == 0 ? "../other" : "class_a");
      std::filesystem::rename(scratch_.Path("train/next"),
                              scratch_.Path("train/flip"));
    }
  });
  for (int i = 0; i < 3000; ++i) EXPECT_FALSE(root->Open("flip/y.jpg").ok());
}

TEST_F(LocalRootTest, TellsWhetherAFileIsWhatItWas) {
  const auto root = Root();
  if (!root->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  const std::string name = "class_a/x.jpg";
  const ObjectVersion version = root->Stat(name)->version();
  EXPECT_TRUE(root->StillHas(name, version));
  EXPECT_FALSE(root->StillHas(name, {version.size, version.stamp + 1}));
  EXPECT_FALSE(root->StillHas(name, {version.size + 1, version.stamp}));
  EXPECT_FALSE(root->StillHas("class_a/gone.jpg", version));
  EXPECT_FALSE(root->StillHas("class_a", root->Stat("class_a")->version()));
  scratch_.Write("train/class_a/x.jpg", "changed in place");
  EXPECT_FALSE(root->StillHas(name, version));
}

TEST_F(LocalRootTest, NeverTellsAtOnceOfAFileBehindALinkThatLeavesTheRoot) {
  const auto root = Root();
  if (!root->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  const ScratchDir elsewhere;
  elsewhere.Write("y.jpg", "y");
  scratch_.Link("train/class_b", elsewhere.Path());
  const std::string name = "class_b/y.jpg";
  struct stat stat;
  ASSERT_EQ(::stat(elsewhere.Path("y.jpg").c_str(), &stat), 0);
  EXPECT_FALSE(root->StillHas(name, ToFileStat(stat).version()));
  EXPECT_EQ(root->CachedStat(name), std::nullopt);
}

TEST_F(LocalRootTest, TellsAtOnceOfAFileBehindALinkWithinTheRoot) {
  const auto root = Root();
  if (!root->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  scratch_.Link("train/class_c", "class_a");
  const ObjectVersion version = root->Stat("class_c/x.jpg")->version();
  EXPECT_TRUE(root->StillHas("class_c/x.jpg", version));
}

TEST_F(LocalRootTest, NamesTheFileSystemOfAnObject) {
  const auto root = Root();
  if (!root->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  const std::string own = root->FileSystemOf("class_a/x.jpg");
  EXPECT_TRUE(own.starts_with(LocalRoot::kDisk)) << own;
  EXPECT_EQ(root->FileSystemOf("class_b/x.jpg"), own);
  root->crossings().Add("class_b/x.jpg");
  const std::string beyond = root->FileSystemOf("class_b/x.jpg");
  EXPECT_TRUE(beyond.starts_with(LocalRoot::kBeyond)) << beyond;
  // Files beyond another root belong to another domain.
  const auto other = *LocalRoot::Create(scratch_.Open(), "/other");
  other->crossings().Add("class_b/x.jpg");
  EXPECT_NE(other->FileSystemOf("class_b/x.jpg"), beyond);
}

TEST_F(LocalRootTest, FoldersWithLinksToOneExtraRootAreOneDomain) {
  const auto root = RootWithExtra();
  std::vector<ExtraRoot> extra;
  extra.push_back({scratch_.Open("other"), scratch_.Path("other")});
  const auto sibling =
      *LocalRoot::Create(scratch_.Open("train/class_a"),
                         scratch_.Path("train/class_a"), std::move(extra));
  ASSERT_NE(*root->identity(), *sibling->identity());
  for (const auto& one : {root, sibling}) one->crossings().Add("y.jpg");
  const std::string beyond = root->FileSystemOf("y.jpg");
  EXPECT_TRUE(beyond.starts_with(LocalRoot::kBeyond)) << beyond;
  EXPECT_EQ(sibling->FileSystemOf("y.jpg"), beyond);
  // Other extra roots lie elsewhere.
  const auto alone = Root();
  alone->crossings().Add("y.jpg");
  EXPECT_NE(alone->FileSystemOf("y.jpg"), beyond);
}

}  // namespace
}  // namespace forebay::storage::local
