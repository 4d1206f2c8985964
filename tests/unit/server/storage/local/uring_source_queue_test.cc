#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/base/clock.h"
#include "server/schedule/stall_threshold.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/local/local_source_fixture.h"
#include "tests/unit/server/storage/local/uring_source_fixture.h"

namespace forebay::storage::local {
namespace {

// Holds the ring's thread after the first read until Finish().
class UringSourceQueueTest : public UringSourceTest {
 protected:
  UringSourceQueueTest() {
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

  // Lets all reads continue, and waits for them.
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

TEST_CASE_METHOD(UringSourceQueueTest,
                 "The io_uring source reads in the order asked for",
                 "[local][uring_source_queue]") {
  Add("f2", 1);
  Add("f0", 2);
  Add("f1", 1);
  CHECK(done_ == 0);
  Finish();
  CHECK(order_ == std::vector<std::string>{"f2", "f0", "f1"});
}

// Destruction completes the reads in flight first, and then cancels the waiting
// ones.
TEST_CASE_METHOD(UringSourceQueueTest,
                 "Destruction of the io_uring source cancels what waits",
                 "[local][uring_source_queue]") {
  for (int i = 0; i < 10; ++i) Add(names_[i], 1);
  {
    std::jthread destroyer([this] { source_.reset(); });
    go_.count_down();
  }
  CHECK(codes_.size() == 11);
  CHECK(codes_.front() == absl::StatusCode::kOk);
  for (std::size_t i = 1; i < codes_.size(); ++i)
    CHECK((codes_[i] == absl::StatusCode::kOk ||
           codes_[i] == absl::StatusCode::kCancelled));
  CHECK(std::is_sorted(codes_.begin(), codes_.end()));
}

// The file system cannot tell whether a read would wait, so threads make all
// reads.
TEST_CASE_METHOD(UringSourceTest,
                 "Threads of a ring's source learn who joins a read that "
                 "another job holds up",
                 "[local][uring_source_queue]") {
  scratch_.Write("hung", "0123456789");
  std::atomic<int> inside = 0;
  std::atomic<bool> released = false;
  FaultyFiles files;
  files.on_open = [&](std::string_view path) {
    if (path != "hung") return;
    ++inside;
    released.wait(false);
  };
  base::FakeClock clock;
  clock.Advance(1);
  UringSourceOptions options;
  options.pool = {
      .threads = 1, .most_hung_of_job = 1, .files = &files, .clock = &clock};
  Start({{SYS_preadv2, EOPNOTSUPP}}, options);
  std::atomic<int> answered = 0;
  const auto read = [&](const char* object, std::uint64_t job,
                        std::uint64_t ticket) {
    ReadRequest request = Request(object);
    request.purpose.job = job;
    request.ticket = ticket;
    request.done = [&](const auto&) { ++answered; };
    source_->Read({&request, 1});
  };
  const auto come = [&](int count) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (answered < count && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    return answered >= count;
  };
  read("hung", 1, 0);
  while (inside < 1) std::this_thread::yield();
  clock.Advance(schedule::StallThreshold::kUnknownNanos);
  read("a/x.jpg", 1, 7);
  read("a/x.jpg", 2, 0);
  CHECK(come(1));
  source_->Share(7, {.job = 2});
  CHECK(come(2));
  released = true;
  released.notify_all();
  CHECK(come(3));
  source_.reset();
}

}  // namespace
}  // namespace forebay::storage::local
