#include "server/dataset/listing/file_list.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::listing {
namespace {

using testing::HasSubstr;
using Paths = std::vector<std::string>;

class FileListTest : public testing::Test {
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
    EXPECT_TRUE(files.ok()) << files.status();
    Paths paths;
    if (!files.ok()) return paths;
    for (const storage::ListedObject& file : *files) paths.push_back(file.name);
    return paths;
  }

  ScratchTree tree_;
  base::WorkingMemory memory_{base::AmpleBudget(), "files"};
};

TEST_F(FileListTest, ExpandsBracesInTheirOrder) {
  EXPECT_EQ(List({"train/{10,0,1}.tar", "top.tar", "top.tar"}),
            Paths({"train/10.tar", "train/0.tar", "train/1.tar", "top.tar",
                   "top.tar"}));
}

TEST_F(FileListTest, FitsFilesAsGlobDoes) {
  EXPECT_EQ(List({"train/*.tar"}), Paths({"train/0.tar", "train/1.tar",
                                          "train/10.tar", "train/link.tar"}));
  EXPECT_EQ(List({"train/?.tar"}), Paths({"train/0.tar", "train/1.tar"}));
  EXPECT_EQ(List({"train/[!0].tar"}), Paths({"train/1.tar"}));
  EXPECT_EQ(List({"train/.*.tar"}), Paths({"train/.hidden.tar"}));
  EXPECT_EQ(List({"*.tar"}), Paths({"top.tar"}));
  EXPECT_EQ(List({"v*/*/0.tar"}), Paths({"val/a/0.tar", "val/b/0.tar"}));
  EXPECT_EQ(List({"*/{b,a}/*.tar"}), Paths({"val/b/0.tar", "val/a/0.tar"}));
  EXPECT_EQ(List({"val/[[]1].tar"}), Paths({"val/[1].tar"}));
}

TEST_F(FileListTest, TakesTheFileOfThatNameIfNoneFits) {
  EXPECT_EQ(List({"val/[1].tar"}), Paths({"val/[1].tar"}));
  tree_.Write("val/1.tar", "");
  EXPECT_EQ(List({"val/[1].tar"}), Paths({"val/1.tar"}));
}

TEST_F(FileListTest, ALinkThatLeadsOutsideIsNotPassedOver) {
  tree_.Link("train/outside.tar", "/etc/passwd");
  tree_.Link("val/outside", "/etc");
  EXPECT_EQ(List({"train/?.tar"}), Paths({"train/0.tar", "train/1.tar"}));
  for (const char* pattern : {"train/*.tar", "val/*/passwd"}) {
    const auto files = ListFiles(*tree_.Root(), {pattern}, memory_);
    EXPECT_TRUE(absl::IsPermissionDenied(files.status())) << files.status();
    EXPECT_THAT(std::string(files.status().message()),
                HasSubstr("leads outside the dataset's root"));
  }
}

TEST_F(FileListTest, KnowsTheirVersions) {
  const auto files = ListFiles(*tree_.Root(), {"train/link.tar"}, memory_);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto stat = tree_.Root()->Stat("train/1.tar");
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(files->at(0).version.size, std::string_view("train/1.tar").size());
  EXPECT_EQ(files->at(0).version.stamp, stat->mtime_nanos);
}

TEST_F(FileListTest, ErrorsNameWhatLacks) {
  const auto expect = [&](const std::string& pattern, absl::StatusCode code,
                          const std::string& named) {
    const absl::Status status =
        ListFiles(*tree_.Root(), {pattern}, memory_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(named));
  };
  expect("train/{0..2}.tar", absl::StatusCode::kNotFound, "train/2.tar");
  expect("test/*.tar", absl::StatusCode::kNotFound, "test/*.tar: no file fits");
  expect("*.zip", absl::StatusCode::kNotFound, "*.zip: no file fits");
  expect("train/{0", absl::StatusCode::kInvalidArgument, "train/{0: has");
  expect("train", absl::StatusCode::kInvalidArgument,
         "train: is not a regular");
  expect("../*.tar", absl::StatusCode::kNotFound, "../*.tar");
}

TEST_F(FileListTest, PatternsFromBracesTakeTheMemoryOfTheirFiles) {
  constexpr int kFiles = 1000;
  for (int i = 0; i < kFiles; ++i)
    tree_.Write("many/" + std::to_string(kFiles + i) + "-of-1.tar", "");
  base::MemoryBudget budget(std::uint64_t{4} << 20);
  base::WorkingMemory memory(&budget, "files");
  const auto files =
      ListFiles(*tree_.Root(), {"many/{1000..1999}-*.tar"}, memory);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), kFiles);
  for (int i = 0; i < kFiles; ++i)
    EXPECT_EQ((*files)[i].name,
              "many/" + std::to_string(kFiles + i) + "-of-1.tar");
}

TEST_F(FileListTest, PatternsOfOneDirectoryKeepTheirOrder) {
  EXPECT_EQ(
      List({"train/1*.tar", "val/?/0.tar", "train/0*", "val/b*/*.tar",
            "train/[0-9].tar"}),
      Paths({"train/1.tar", "train/10.tar", "val/a/0.tar", "val/b/0.tar",
             "train/0.tar", "val/b/0.tar", "train/0.tar", "train/1.tar"}));
}

TEST_F(FileListTest, Stops) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ListFiles(*tree_.Root(), {"*.tar"}, memory_, stop.get_token())
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace forebay::dataset::listing
