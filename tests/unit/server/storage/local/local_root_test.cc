#include "server/storage/local/local_root.h"

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

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;
using tests::StartsWith;

class LocalRootTest {
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

  // Returns a root whose extra root is other/.
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
    CHECK_THAT(status, HasCode(absl::StatusCode::kPermissionDenied));
    CHECK_THAT(status.message(), StartsWith(std::string(path)));
    CHECK_THAT(status.message(), Contains("leads outside the dataset's root"));
    CHECK_THAT(status.message(), Contains("extra_roots"));
  }

  const ScratchDir scratch_;
};

TEST_CASE_METHOD(LocalRootTest, "A local root opens what lies beneath it",
                 "[local][local_root]") {
  CHECK(Content(*Root(), "class_a/x.jpg") == "inside");
  CHECK(Content(*Root(), "./class_a//x.jpg") == "inside");
  CHECK_THAT(Root()->OpenDirectory(""), IsOk());
  CHECK_THAT(Root()->OpenDirectory("class_a"), IsOk());
}

// While anything on the host is being renamed, the kernel cannot tell where
// ".." leads.
TEST_CASE_METHOD(LocalRootTest, "A local root opens files while others rename",
                 "[local][local_root]") {
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
  for (int i = 0; i < 1000; ++i) REQUIRE(Content(*root, path) == "inside");
}

TEST_CASE_METHOD(LocalRootTest, "A local root names what is missing",
                 "[local][local_root]") {
  const absl::Status status = Root()->Open("class_a/gone.jpg").status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(status.message(), StartsWith("class_a/gone.jpg: "));
  CHECK_THAT(Root()->OpenDirectory("class_a/x.jpg"),
             HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(LocalRootTest, "A local root refuses paths that leave it",
                 "[local][local_root]") {
  ExpectOutside(Root()->Open("../other/y.jpg").status(), "../other/y.jpg");
  ExpectOutside(Root()->Open("class_a/../../other/y.jpg").status(), "class_a");
  ExpectOutside(Root()->Open("/etc/passwd").status(), "/etc/passwd");
  ExpectOutside(Root()->OpenDirectory("..").status(), "..");
  CHECK_THAT(Root()->Open(std::string_view("class_a\0/x", 10)),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(LocalRootTest,
                 "A local root follows links that stay within it",
                 "[local][local_root]") {
  scratch_.Link("train/class_b", "class_a");
  scratch_.Link("train/class_a/relative.jpg", "../class_b/x.jpg");
  scratch_.Link("train/class_a/absolute.jpg",
                scratch_.Path("train/class_a/x.jpg"));
  scratch_.Link("train/class_a/out_and_in.jpg", "../../train/class_a/x.jpg");
  CHECK(Content(*Root(), "class_b/x.jpg") == "inside");
  CHECK(Content(*Root(), "class_a/relative.jpg") == "inside");
  CHECK(Content(*Root(), "class_a/absolute.jpg") == "inside");
  CHECK(Content(*Root(), "class_a/out_and_in.jpg") == "inside");
}

TEST_CASE_METHOD(LocalRootTest, "A local root refuses links that leave it",
                 "[local][local_root]") {
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

TEST_CASE_METHOD(LocalRootTest, "A local root follows links into an extra root",
                 "[local][local_root]") {
  scratch_.Link("train/class_a/absolute.jpg", scratch_.Path("other/y.jpg"));
  scratch_.Link("train/class_a/relative.jpg", "../../other/y.jpg");
  scratch_.Link("train/class_a/twice.jpg", "../class_c/relative.jpg");
  scratch_.Link("train/class_b", "../other");
  scratch_.Link("train/class_c", "class_a");
  scratch_.Link("other/back.jpg", "../train/class_a/x.jpg");
  const auto root = RootWithExtra();
  for (std::string_view path : {"class_a/absolute.jpg", "class_a/relative.jpg",
                                "class_a/twice.jpg", "class_b/y.jpg"}) {
    CAPTURE(path);
    CHECK(Content(*root, path) == "other");
  }
  CHECK(Content(*root, "class_b/back.jpg") == "inside");
  CHECK_THAT(root->OpenDirectory("class_b"), IsOk());
}

TEST_CASE_METHOD(
    LocalRootTest,
    "A local root refuses paths and links that leave an extra root",
    "[local][local_root]") {
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

TEST_CASE_METHOD(LocalRootTest, "A local root is found by its other names",
                 "[local][local_root]") {
  scratch_.Link("link", "train");
  scratch_.Link("folders", ".");
  const auto root = Root();
  for (const char* name : {"train", "link", "folders/link", "train/../train"}) {
    CHECK(root->NameIn(scratch_.Path(name) + "/class_a/x.jpg") ==
          scratch_.Path(name));
    CHECK(root->NameIn(scratch_.Path(name) + "/gone/gone.jpg") ==
          scratch_.Path(name));
  }
  for (const char* path : {"train", "other/y.jpg", "gone/x.jpg"}) {
    CAPTURE(path);
    CHECK_THAT(root->NameIn(scratch_.Path(path)), Catch::Equals(""));
  }
  CHECK_THAT(root->NameIn("/"), Catch::Equals(""));
  CHECK_THAT(root->NameIn(""), Catch::Equals(""));
}

TEST_CASE_METHOD(LocalRootTest,
                 "Loops of links below a local root end with an error",
                 "[local][local_root]") {
  scratch_.Link("train/a", "b");
  scratch_.Link("train/b", "a");
  scratch_.Link("train/c", scratch_.Path("train/d"));
  scratch_.Link("train/d", scratch_.Path("train/c"));
  for (std::string_view path : {"a", "c", "c/x"})
    CHECK_THAT(Root()->Open(path), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(LocalRootTest, "Special files never hang a local root",
                 "[local][local_root]") {
  REQUIRE(mkfifo(scratch_.Path("train/fifo.jpg").c_str(), 0600) == 0);
  CHECK_THAT(Root()->Open("fifo.jpg"), IsOk());
  CHECK(Root()->Stat("fifo.jpg")->type == FileType::kOther);
  REQUIRE(mknod(scratch_.Path("train/s").c_str(), S_IFSOCK | 0600, 0) == 0);
  CHECK_THAT(Root()->Open("s"), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(
    LocalRootTest,
    "A local root stats directory entries by the same rules as it opens files",
    "[local][local_root]") {
  scratch_.Link("train/class_a/link.jpg", "x.jpg");
  scratch_.Link("train/class_a/out.jpg", "../../other/y.jpg");
  scratch_.Link("train/class_a/broken.jpg", "nowhere");
  const auto root = Root();
  const base::Fd directory = *root->OpenDirectory("class_a");
  const FileStat direct = *root->StatEntry(directory.get(), "class_a", "x.jpg");
  CHECK(direct.type == FileType::kRegular);
  CHECK(direct.size == 6);
  struct stat expected;
  REQUIRE(stat(scratch_.Path("train/class_a/x.jpg").c_str(), &expected) == 0);
  CHECK(direct.mtime_nanos ==
        expected.st_mtim.tv_sec * 1'000'000'000 + expected.st_mtim.tv_nsec);
  CHECK(direct.inode == expected.st_ino);
  CHECK(direct.device == expected.st_dev);
  CHECK(root->StatEntry(directory.get(), "class_a", "link.jpg")->inode ==
        direct.inode);
  CHECK(root->Stat("class_a")->type == FileType::kDirectory);
  ExpectOutside(root->StatEntry(directory.get(), "class_a", "out.jpg").status(),
                "class_a/out.jpg");
  CHECK_THAT(root->StatEntry(directory.get(), "class_a", "broken.jpg"),
             HasCode(absl::StatusCode::kNotFound));
  for (std::string_view name : {"", ".", "..", "../x", "a/b"}) {
    CAPTURE(name);
    CHECK_THAT(root->StatEntry(directory.get(), "class_a", name),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE_METHOD(LocalRootTest, "A local root takes directories only",
                 "[local][local_root]") {
  CHECK_THAT(
      LocalRoot::Create(
          base::Fd(open(scratch_.Path("other/y.jpg").c_str(), O_RDONLY)), "/x")
          .status(),
      HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_FALSE(LocalRoot::Create(base::Fd(), "/x").ok());
  std::vector<ExtraRoot> relative;
  relative.push_back({scratch_.Open("other"), "other"});
  CHECK_THAT(
      LocalRoot::Create(scratch_.Open("train"), "/x", std::move(relative))
          .status(),
      HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(LocalRootTest,
                 "Local roots of the same directories by the same paths have "
                 "the same identity",
                 "[local][local_root]") {
  CHECK(*Root()->identity() == *Root()->identity());
  CHECK(*RootWithExtra()->identity() == *RootWithExtra()->identity());
  CHECK(*Root()->identity() != *RootWithExtra()->identity());
  const auto known_as = [this](const char* directory, std::string uri) {
    return *(*LocalRoot::Create(scratch_.Open(directory), std::move(uri)))
                ->identity();
  };
  CHECK(known_as("train", "file://" + scratch_.Path("train") + "/") ==
        *Root()->identity());
  CHECK(known_as("other", scratch_.Path("train")) != *Root()->identity());
  // If the path of the same directory is another one, its links may lead
  // elsewhere.
  CHECK(known_as("train", "/data") != *Root()->identity());
}

// While a link is opened, it flips between inside and outside. The link is
// followed inside or refused, but never followed outside.
TEST_CASE_METHOD(LocalRootTest, "Races never lead outside a local root",
                 "[local][local_root]") {
  const auto root = Root();
  std::jthread flipper([this](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      scratch_.Link("train/next", i % 2 == 0 ? "../other" : "class_a");
      std::filesystem::rename(scratch_.Path("train/next"),
                              scratch_.Path("train/flip"));
    }
  });
  for (int i = 0; i < 3000; ++i) CHECK_FALSE(root->Open("flip/y.jpg").ok());
}

TEST_CASE_METHOD(LocalRootTest,
                 "A local root tells whether a file is what it was",
                 "[local][local_root]") {
  const auto root = Root();
  if (!root->on_this_host()) SKIP("a file system of another kind");
  const std::string name = "class_a/x.jpg";
  const ObjectVersion version = root->Stat(name)->version();
  CHECK(root->StillHas(name, version));
  CHECK_FALSE(root->StillHas(name, {version.size, version.stamp + 1}));
  CHECK_FALSE(root->StillHas(name, {version.size + 1, version.stamp}));
  CHECK_FALSE(root->StillHas("class_a/gone.jpg", version));
  CHECK_FALSE(root->StillHas("class_a", root->Stat("class_a")->version()));
  scratch_.Write("train/class_a/x.jpg", "changed in place");
  CHECK_FALSE(root->StillHas(name, version));
}

TEST_CASE_METHOD(
    LocalRootTest,
    "A local root never tells at once of a file behind a link that leaves it",
    "[local][local_root]") {
  const auto root = Root();
  if (!root->on_this_host()) SKIP("a file system of another kind");
  const ScratchDir elsewhere;
  elsewhere.Write("y.jpg", "y");
  scratch_.Link("train/class_b", elsewhere.Path());
  const std::string name = "class_b/y.jpg";
  struct stat stat;
  REQUIRE(::stat(elsewhere.Path("y.jpg").c_str(), &stat) == 0);
  CHECK_FALSE(root->StillHas(name, ToFileStat(stat).version()));
  CHECK(root->CachedStat(name) == std::nullopt);
}

TEST_CASE_METHOD(LocalRootTest,
                 "A local root tells at once of a file behind a link within it",
                 "[local][local_root]") {
  const auto root = Root();
  if (!root->on_this_host()) SKIP("a file system of another kind");
  scratch_.Link("train/class_c", "class_a");
  const ObjectVersion version = root->Stat("class_c/x.jpg")->version();
  CHECK(root->StillHas("class_c/x.jpg", version));
}

TEST_CASE_METHOD(LocalRootTest,
                 "A local root names the file system of an object",
                 "[local][local_root]") {
  const auto root = Root();
  if (!root->on_this_host()) SKIP("a file system of another kind");
  const std::string own = root->FileSystemOf("class_a/x.jpg");
  CAPTURE(own);
  CHECK(own.starts_with(LocalRoot::kDisk));
  CHECK(root->FileSystemOf("class_b/x.jpg") == own);
  root->crossings().Add("class_b/x.jpg");
  const std::string beyond = root->FileSystemOf("class_b/x.jpg");
  CAPTURE(beyond);
  CHECK(beyond.starts_with(LocalRoot::kBeyond));
  // With another root, files outside of it belong to another domain.
  const auto other = *LocalRoot::Create(scratch_.Open(), "/other");
  other->crossings().Add("class_b/x.jpg");
  CHECK(other->FileSystemOf("class_b/x.jpg") != beyond);
}

TEST_CASE_METHOD(LocalRootTest,
                 "Folders with links to one extra root are one domain",
                 "[local][local_root]") {
  const auto root = RootWithExtra();
  std::vector<ExtraRoot> extra;
  extra.push_back({scratch_.Open("other"), scratch_.Path("other")});
  const auto sibling =
      *LocalRoot::Create(scratch_.Open("train/class_a"),
                         scratch_.Path("train/class_a"), std::move(extra));
  REQUIRE(*root->identity() != *sibling->identity());
  for (const auto& one : {root, sibling}) one->crossings().Add("y.jpg");
  const std::string beyond = root->FileSystemOf("y.jpg");
  CAPTURE(beyond);
  CHECK(beyond.starts_with(LocalRoot::kBeyond));
  CHECK(sibling->FileSystemOf("y.jpg") == beyond);
  // With other extra roots, links lead elsewhere.
  const auto alone = Root();
  alone->crossings().Add("y.jpg");
  CHECK(alone->FileSystemOf("y.jpg") != beyond);
}

}  // namespace
}  // namespace forebay::storage::local
