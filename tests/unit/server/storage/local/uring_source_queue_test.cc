#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/storage/local/uring_source_fixture.h"

namespace forebay::storage::local {
namespace {

// Holds the ring's thread after the first read until Finish.
class UringSourceQueueTest : public UringSourceTest {
 protected:
  void SetUp() override {
    UringSourceTest::SetUp();
    if (IsSkipped()) return;
    for (int i = 0; i < 100; ++i) {
      names_.push_back("f" + std::to_string(i));
      std::filesystem::create_hard_link(scratch_.Path("a/x.jpg"),
                                        scratch_.Path(names_.back()));
    }
    ReadRequest request = Request();
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      codes_.push_back(result.status().code());
      entered_.count_down();
      go_.wait();
      ++done_;
    };
    ++added_;
    source_->Read({&request, 1});
    entered_.wait();
  }

  void Add(const std::string& object, std::uint64_t job) {
    ReadRequest request = Request(object);
    request.purpose.job = job;
    request.done = [this, object](const absl::StatusOr<ReadResult>& result) {
      order_.push_back(object);
      codes_.push_back(result.status().code());
      ++done_;
    };
    ++added_;
    source_->Read({&request, 1});
  }

  // Lets all reads go, and waits for them.
  void Finish() {
    go_.count_down();
    while (done_ < added_) std::this_thread::yield();
  }

  std::vector<std::string> names_;
  std::vector<std::string> order_;
  std::vector<absl::StatusCode> codes_;
  int added_ = 0;
  std::atomic<int> done_ = 0;
  std::latch entered_{1};
  std::latch go_{1};
};

TEST_F(UringSourceQueueTest, ReadsInTheOrderAskedFor) {
  Add("f2", 1);
  Add("f0", 2);
  Add("f1", 1);
  EXPECT_EQ(done_, 0);
  Finish();
  EXPECT_EQ(order_, (std::vector<std::string>{"f2", "f0", "f1"}));
}

// Destruction completes the reads in flight first, and then cancels the waiting
// ones.
TEST_F(UringSourceQueueTest, DestructionCancelsWhatWaits) {
  for (int i = 0; i < 10; ++i) Add(names_[i], 1);
  {
    std::jthread destroyer([this] { source_.reset(); });
    go_.count_down();
  }
  EXPECT_EQ(codes_.size(), 11);
  EXPECT_EQ(codes_.front(), absl::StatusCode::kOk);
  for (std::size_t i = 1; i < codes_.size(); ++i)
    EXPECT_TRUE(codes_[i] == absl::StatusCode::kOk ||
                codes_[i] == absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::is_sorted(codes_.begin(), codes_.end()));
}

}  // namespace
}  // namespace forebay::storage::local
