#include "server/dataset/folder/tree_scan.h"

#include <atomic>
#include <stop_token>
#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr int kDirectories = 20;
constexpr int kFiles = 20;

// ScanTree takes a plain function, so the test's function uses global
// variables.
std::stop_source stop;
std::atomic<int> stop_after;
std::atomic<int> looked_at;

bool StopAfterSome(std::string_view) {
  if (++looked_at == stop_after) stop.request_stop();
  return true;
}

class TreeScanTest {
 protected:
  TreeScanTest() {
    for (int d = 0; d < kDirectories; ++d) {
      for (int f = 0; f < kFiles; ++f)
        tree_.Write(std::to_string(d) + "/" + std::to_string(f), "");
    }
    stop = std::stop_source();
    stop_after = 0;
    looked_at = 0;
  }

  absl::StatusOr<ScannedTree> Scan(int threads) {
    return ScanTree(*tree_.Root(), StopAfterSome, threads, memory_,
                    stop.get_token());
  }

  ScratchTree tree_;
  base::WorkingMemory memory_{base::AmpleBudget(), "a scan"};
};

TEST_CASE_METHOD(TreeScanTest,
                 "A tree scan finds all files unless it is stopped",
                 "[folder][tree_scan]") {
  const auto tree = Scan(3);
  REQUIRE_THAT(tree, IsOk());
  CHECK(tree->directories.size() == 1 + kDirectories);
  CHECK(looked_at == kDirectories * kFiles);
}

TEST_CASE_METHOD(
    TreeScanTest,
    "A tree scan with one thread looks at nothing once it is stopped",
    "[folder][tree_scan]") {
  for (const int after : {1, kFiles, kDirectories * kFiles / 2}) {
    stop = std::stop_source();
    stop_after = after;
    looked_at = 0;
    CHECK_THAT(Scan(1), HasCode(absl::StatusCode::kCancelled));
    CHECK(looked_at == after);
  }
}

TEST_CASE_METHOD(
    TreeScanTest,
    "Each thread of a stopped tree scan looks at one more file at most",
    "[folder][tree_scan]") {
  constexpr int kThreads = 4;
  stop_after = 2 * kFiles;
  CHECK_THAT(Scan(kThreads), HasCode(absl::StatusCode::kCancelled));
  CHECK(looked_at < 2 * kFiles + kThreads);
}

TEST_CASE_METHOD(TreeScanTest,
                 "A tree scan does not begin when it is already stopped",
                 "[folder][tree_scan]") {
  stop.request_stop();
  CHECK_THAT(Scan(2), HasCode(absl::StatusCode::kCancelled));
  CHECK(looked_at == 0);
}

}  // namespace
}  // namespace forebay::dataset::folder
