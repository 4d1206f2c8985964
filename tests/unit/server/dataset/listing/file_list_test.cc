#include "server/dataset/listing/file_list.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::listing {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using Paths = std::vector<std::string>;

class FileListTest {
 protected:
  FileListTest() {
    for (const char* path : {"train/0.tar", "train/1.tar", "train/10.tar",
                             "train/x.txt", "train/.hidden.tar", "val/a/0.tar",
                             "val/b/0.tar", "val/[1].tar", "top.tar"}) {
      tree_.Write(path, path);
    }
    tree_.MakeDirectory("train/directory.tar");
    tree_.Link("train/link.tar", "1.tar");
    tree_.Link("train/gone.tar", "nowhere");
  }

  Paths List(const std::vector<std::string>& patterns) {
    const auto files = ListFiles(*tree_.Root(), patterns, memory_);
    CHECK_THAT(files, IsOk());
    Paths paths;
    if (!files.ok()) return paths;
    for (const storage::ListedObject& file : *files) paths.push_back(file.name);
    return paths;
  }

  ScratchTree tree_;
  base::WorkingMemory memory_{base::AmpleBudget(), "files"};
};

TEST_CASE_METHOD(FileListTest, "A file list expands braces in their order",
                 "[listing][file_list]") {
  CHECK(List({"train/{10,0,1}.tar", "top.tar", "top.tar"}) ==
        Paths({"train/10.tar", "train/0.tar", "train/1.tar", "top.tar",
               "top.tar"}));
}

TEST_CASE_METHOD(FileListTest,
                 "A file list fits files to patterns as glob does",
                 "[listing][file_list]") {
  CHECK(List({"train/*.tar"}) == Paths({"train/0.tar", "train/1.tar",
                                        "train/10.tar", "train/link.tar"}));
  CHECK(List({"train/?.tar"}) == Paths({"train/0.tar", "train/1.tar"}));
  CHECK(List({"train/[!0].tar"}) == Paths({"train/1.tar"}));
  CHECK(List({"train/.*.tar"}) == Paths({"train/.hidden.tar"}));
  CHECK(List({"*.tar"}) == Paths({"top.tar"}));
  CHECK(List({"v*/*/0.tar"}) == Paths({"val/a/0.tar", "val/b/0.tar"}));
  CHECK(List({"*/{b,a}/*.tar"}) == Paths({"val/b/0.tar", "val/a/0.tar"}));
  CHECK(List({"val/[[]1].tar"}) == Paths({"val/[1].tar"}));
}

TEST_CASE_METHOD(
    FileListTest,
    "A file list takes the file named like the pattern if none fits",
    "[listing][file_list]") {
  CHECK(List({"val/[1].tar"}) == Paths({"val/[1].tar"}));
  tree_.Write("val/1.tar", "");
  CHECK(List({"val/[1].tar"}) == Paths({"val/1.tar"}));
}

TEST_CASE_METHOD(FileListTest,
                 "A file list does not pass over a link that leads outside",
                 "[listing][file_list]") {
  tree_.Link("train/outside.tar", "/etc/passwd");
  tree_.Link("val/outside", "/etc");
  CHECK(List({"train/?.tar"}) == Paths({"train/0.tar", "train/1.tar"}));
  for (const char* pattern : {"train/*.tar", "val/*/passwd"}) {
    const auto files = ListFiles(*tree_.Root(), {pattern}, memory_);
    CHECK_THAT(files, HasCode(absl::StatusCode::kPermissionDenied));
    CHECK_THAT(files.status().message(),
               Contains("leads outside the dataset's root"));
  }
}

TEST_CASE_METHOD(FileListTest, "A file list knows the versions of its files",
                 "[listing][file_list]") {
  const auto files = ListFiles(*tree_.Root(), {"train/link.tar"}, memory_);
  REQUIRE_THAT(files, IsOk());
  const auto stat = tree_.Root()->Stat("train/1.tar");
  REQUIRE_THAT(stat, IsOk());
  CHECK(files->at(0).version.size == std::string_view("train/1.tar").size());
  CHECK(files->at(0).version.stamp == stat->mtime_nanos);
}

TEST_CASE_METHOD(FileListTest, "A file list's errors name what is missing",
                 "[listing][file_list]") {
  const auto expect = [&](const std::string& pattern, absl::StatusCode code,
                          const std::string& named) {
    const absl::Status status =
        ListFiles(*tree_.Root(), {pattern}, memory_).status();
    CHECK_THAT(status, HasCode(code));
    CHECK_THAT(status.message(), Contains(named));
  };
  expect("train/{0..2}.tar", absl::StatusCode::kNotFound, "train/2.tar");
  expect("test/*.tar", absl::StatusCode::kNotFound, "test/*.tar: no file fits");
  expect("*.zip", absl::StatusCode::kNotFound, "*.zip: no file fits");
  expect("train/{0", absl::StatusCode::kInvalidArgument, "train/{0: has");
  expect("train", absl::StatusCode::kInvalidArgument,
         "train: is not a regular");
  expect("../*.tar", absl::StatusCode::kNotFound, "../*.tar");
}

TEST_CASE_METHOD(
    FileListTest,
    "A file list's patterns from braces take only the memory of their files",
    "[listing][file_list]") {
  constexpr int kFiles = 1000;
  for (int i = 0; i < kFiles; ++i)
    tree_.Write("many/" + std::to_string(kFiles + i) + "-of-1.tar", "");
  base::MemoryBudget budget(std::uint64_t{4} << 20);
  base::WorkingMemory memory(&budget, "files");
  const auto files =
      ListFiles(*tree_.Root(), {"many/{1000..1999}-*.tar"}, memory);
  REQUIRE_THAT(files, IsOk());
  REQUIRE(files->size() == kFiles);
  for (int i = 0; i < kFiles; ++i)
    CHECK((*files)[i].name ==
          "many/" + std::to_string(kFiles + i) + "-of-1.tar");
}

TEST_CASE_METHOD(FileListTest,
                 "A file list's patterns of one directory keep their order",
                 "[listing][file_list]") {
  CHECK(List({"train/1*.tar", "val/?/0.tar", "train/0*", "val/b*/*.tar",
              "train/[0-9].tar"}) ==
        Paths({"train/1.tar", "train/10.tar", "val/a/0.tar", "val/b/0.tar",
               "train/0.tar", "val/b/0.tar", "train/0.tar", "train/1.tar"}));
}

TEST_CASE_METHOD(FileListTest, "A file list stops when it is told to",
                 "[listing][file_list]") {
  std::stop_source stop;
  stop.request_stop();
  CHECK_THAT(
      ListFiles(*tree_.Root(), {"*.tar"}, memory_, stop.get_token()).status(),
      HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace forebay::dataset::listing
