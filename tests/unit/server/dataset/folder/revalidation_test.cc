#include "server/dataset/folder/revalidation.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/folder/folder_scan.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RevalidationTest : public testing::Test {
 protected:
  RevalidationTest() {
    for (int i = 0; i < 10; ++i) {
      tree_.Write("a/" + std::to_string(i) + ".jpg", "x");
      tree_.Write("b/sub/" + std::to_string(i) + ".jpg", "x");
    }
    tree_.Link("b/sub/link.jpg", "../../a/0.jpg");
    index_ =
        *ScanFolder(*tree_.Root(), {.stop = {}, .budget = base::AmpleBudget()});
  }

  bool Holds(std::uint64_t most_files = 1000) {
    warnings_.clear();
    return IsUnchanged(*tree_.Root(), *index_, {}, &warnings_,
                       {.local = most_files, .remote = most_files});
  }

  const ScratchTree tree_;
  std::shared_ptr<const FolderIndex> index_;
  std::vector<std::string> warnings_;
};

TEST_F(RevalidationTest, WhatIsTheSameHolds) {
  for (const std::uint64_t most : {1, 2, 3, 20, 21, 22, 1000})
    EXPECT_TRUE(Holds(most)) << most;
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(RevalidationTest, NamesAFileThatWasEdited) {
  tree_.Write("b/sub/7.jpg", "xy");
  EXPECT_FALSE(Holds());
  EXPECT_THAT(
      warnings_,
      ElementsAre(HasSubstr(": b/sub/7.jpg was changed in its place: ")));
}

TEST_F(RevalidationTest, LooksWhereLinksLead) {
  tree_.Write("a/0.jpg", "xy");
  EXPECT_FALSE(Holds());
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr(": a/0.jpg was changed in its place: ")));
  index_ =
      *ScanFolder(*tree_.Root(), {.stop = {}, .budget = base::AmpleBudget()});
  EXPECT_TRUE(Holds());
}

TEST_F(RevalidationTest, OfMoreFilesSomeAreLookedAt) {
  tree_.Write("a/1.jpg", "xy");
  EXPECT_TRUE(Holds(5));
  EXPECT_FALSE(Holds(21));
  for (int i = 0; i < 10; ++i)
    tree_.Write("b/sub/" + std::to_string(i) + ".jpg", "xyz");
  EXPECT_FALSE(Holds(5));
}

TEST_F(RevalidationTest, ADirectoryThatChangedIsNoEdit) {
  tree_.Write("a/new.jpg", "x");
  EXPECT_FALSE(Holds());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(RevalidationTest, IsNotKnownWhereItWasStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(
      IsUnchanged(*tree_.Root(), *index_, stop.get_token(), &warnings_));
}

}  // namespace
}  // namespace forebay::dataset::folder
