#include "server/dataset/folder/revalidation.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "server/dataset/folder/folder_scan.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::IsEmpty;

class RevalidationTest {
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

TEST_CASE_METHOD(RevalidationTest,
                 "A folder index holds on revalidation where all is the same",
                 "[folder][revalidation]") {
  for (const std::uint64_t most : {1, 2, 3, 20, 21, 22, 1000}) {
    CAPTURE(most);
    CHECK(Holds(most));
  }
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(RevalidationTest, "Revalidation names a file that was edited",
                 "[folder][revalidation]") {
  tree_.Write("b/sub/7.jpg", "xy");
  CHECK_FALSE(Holds());
  CHECK_THAT(warnings_,
             ElementsAre(Contains(": b/sub/7.jpg was changed in its place: ")));
}

TEST_CASE_METHOD(RevalidationTest, "Revalidation looks where links lead",
                 "[folder][revalidation]") {
  tree_.Write("a/0.jpg", "xy");
  CHECK_FALSE(Holds());
  CHECK_THAT(warnings_,
             ElementsAre(Contains(": a/0.jpg was changed in its place: ")));
  index_ =
      *ScanFolder(*tree_.Root(), {.stop = {}, .budget = base::AmpleBudget()});
  CHECK(Holds());
}

TEST_CASE_METHOD(RevalidationTest,
                 "Revalidation looks at some of more files than its limit",
                 "[folder][revalidation]") {
  tree_.Write("a/1.jpg", "xy");
  CHECK(Holds(5));
  CHECK_FALSE(Holds(21));
  for (int i = 0; i < 10; ++i)
    tree_.Write("b/sub/" + std::to_string(i) + ".jpg", "xyz");
  CHECK_FALSE(Holds(5));
}

TEST_CASE_METHOD(
    RevalidationTest,
    "Revalidation does not take a changed directory for an edited file",
    "[folder][revalidation]") {
  tree_.Write("a/new.jpg", "x");
  CHECK_FALSE(Holds());
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(
    RevalidationTest,
    "Revalidation that was stopped does not let a folder index hold",
    "[folder][revalidation]") {
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(
      IsUnchanged(*tree_.Root(), *index_, stop.get_token(), &warnings_));
}

}  // namespace
}  // namespace forebay::dataset::folder
