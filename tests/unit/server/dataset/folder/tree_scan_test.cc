#include "server/dataset/folder/tree_scan.h"

#include <atomic>
#include <stop_token>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

constexpr int kDirectories = 20;
constexpr int kFiles = 20;

// ScanTree takes a plain function: what it refers to must be global.
std::stop_source stop;
std::atomic<int> stop_after;
std::atomic<int> looked_at;

bool StopAfterSome(std::string_view) {
  if (++looked_at == stop_after) stop.request_stop();
  return true;
}

class TreeScanTest : public testing::Test {
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

TEST_F(TreeScanTest, FindsAllUnlessStopped) {
  const auto tree = Scan(3);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->directories.size(), 1 + kDirectories);
  EXPECT_EQ(looked_at, kDirectories * kFiles);
}

TEST_F(TreeScanTest, OneThreadLooksAtNothingOnceStopped) {
  for (const int after : {1, kFiles, kDirectories * kFiles / 2}) {
    stop = std::stop_source();
    stop_after = after;
    looked_at = 0;
    EXPECT_EQ(Scan(1).status().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(looked_at, after);
  }
}

TEST_F(TreeScanTest, EachThreadLooksAtOneMoreAtMost) {
  constexpr int kThreads = 4;
  stop_after = 2 * kFiles;
  EXPECT_EQ(Scan(kThreads).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(looked_at, 2 * kFiles + kThreads);
}

TEST_F(TreeScanTest, DoesNotBeginWhenStopped) {
  stop.request_stop();
  EXPECT_EQ(Scan(2).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(looked_at, 0);
}

}  // namespace
}  // namespace forebay::dataset::folder
