// Tests of reads of files that hang.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/base/clock.h"
#include "server/schedule/stall_threshold.h"
#include "server/storage/local/local_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/storage/local/local_source_fixture.h"

namespace forebay::storage::local {
namespace {

// Holds the opens of objects whose names begin with "hung" until Release().
class HungFiles {
 public:
  explicit HungFiles(FaultyFiles* files) {
    files->on_open = [this](std::string_view path) {
      if (!path.starts_with("hung")) return;
      ++inside_;
      released_.wait(false);
    };
  }
  ~HungFiles() { Release(); }
  void Release() {
    released_ = true;
    released_.notify_all();
  }
  int inside() const { return inside_; }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<bool> released_ = false;
};

// A clock that tests advance, and that counts how often it is read.
class CountingClock final : public base::Clock {
 public:
  std::int64_t NowNanos() const override {
    ++asked_;
    return now_nanos_;
  }
  void Advance(std::int64_t nanos) { now_nanos_ += nanos; }
  int asked() const { return asked_; }

 private:
  std::atomic<std::int64_t> now_nanos_ = 1;
  mutable std::atomic<int> asked_ = 0;
};

class HungReadsTest : public LocalSourceTest {
 protected:
  HungReadsTest() {
    for (const char* const name : {"hung/a", "hung/b", "hung/c", "hung/d"})
      scratch_.Write(name, "0123456789");
    source_.emplace(
        LocalSourceOptions{.threads = 1, .most_hung = 2, .files = &files_});
  }
  ~HungReadsTest() {
    hung_.Release();
    source_.reset();
  }

  // Starts a read of an object, and counts good answers.
  void Begin(const std::string& object, std::uint64_t job = 0) {
    BeginAll({object}, job);
  }
  void BeginAll(const std::vector<std::string>& objects,
                std::uint64_t job = 0) {
    std::vector<ReadRequest> requests;
    for (const std::string& object : objects) {
      requests.push_back(Request(object));
      requests.back().version = root_->Stat(object)->version();
      requests.back().purpose.job = job;
      requests.back().done = [this](const absl::StatusOr<ReadResult>& result) {
        checks_.CheckOk(result.status());
        ++answered_;
      };
    }
    source_->Read(absl::MakeSpan(requests));
  }
  // Starts a read of a good file for `purpose`.
  void BeginFor(const ReadPurpose& purpose, std::uint64_t ticket = 0) {
    ReadRequest request = Request();
    request.purpose = purpose;
    request.ticket = ticket;
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      if (result.ok()) ++answered_;
    };
    source_->Read({&request, 1});
  }
  // Makes a read of job 1 hang. A job may have one hanging read.
  void HangJob1(std::uint64_t ticket = 0) {
    MakeWithClock({.threads = 1, .most_hung_of_job = 1});
    ReadRequest request = Request("hung/a");
    request.purpose.job = 1;
    request.ticket = ticket;
    request.done = [this](const auto&) { ++answered_; };
    source_->Read({&request, 1});
    AwaitInside(1);
    clock_.Advance(kStall);
  }
  // Makes a source that uses clock_.
  void MakeWithClock(LocalSourceOptions options) {
    options.files = &files_;
    options.clock = &clock_;
    source_.emplace(options);
  }
  void AwaitInside(int count) const {
    while (hung_.inside() < count) std::this_thread::yield();
  }
  void AwaitAnswers(int count) const {
    while (answered_ < count) std::this_thread::yield();
  }
  // Returns whether `count` answers come within ten seconds.
  bool AnswersCome(int count) const {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (answered_ < count && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    return answered_ >= count;
  }

  static constexpr std::int64_t kStall =
      schedule::StallThreshold::kUnknownNanos;

  CountingClock clock_;
  HungFiles hung_{&files_};
  tests::ThreadChecks checks_;
  std::atomic<int> answered_ = 0;
};

TEST_CASE_METHOD(
    HungReadsTest,
    "Another thread of the local source reads on beside one that hangs",
    "[local][hung_reads]") {
  Begin("hung/a");
  while (hung_.inside() < 1) std::this_thread::yield();
  Begin("a/x.jpg");
  while (answered_ < 1) std::this_thread::yield();
  CHECK(hung_.inside() == 1);
  hung_.Release();
  while (answered_ < 2) std::this_thread::yield();
  // The thread that hung, or its replacement, goes on reading.
  Begin("a/x.jpg");
  while (answered_ < 3) std::this_thread::yield();
}

TEST_CASE_METHOD(HungReadsTest,
                 "Only a limited number of the local source's threads may hang",
                 "[local][hung_reads]") {
  for (const char* const name : {"hung/a", "hung/b", "hung/c"}) Begin(name);
  while (hung_.inside() < 3) std::this_thread::yield();
  Begin("a/x.jpg");
  // Two reads may hang. The third one occupies the only thread that may read.
  CHECK(answered_ == 0);
  hung_.Release();
  while (answered_ < 4) std::this_thread::yield();
}

TEST_CASE_METHOD(
    HungReadsTest,
    "What a thread of the local source has read before it hangs is answered",
    "[local][hung_reads]") {
  MakeWithClock({.threads = 1});
  BeginAll({"a/x.jpg", "a/x.jpg", "hung/a"});
  AwaitInside(1);
  CHECK(answered_ == 0);  // the thread is not yet overdue
  clock_.Advance(kStall);
  AwaitAnswers(2);
  hung_.Release();
  AwaitAnswers(3);
}

TEST_CASE_METHOD(HungReadsTest,
                 "Local reads that are done are answered even where no more "
                 "threads may hang",
                 "[local][hung_reads]") {
  MakeWithClock({.threads = 1, .most_hung = 0});
  BeginAll({"a/x.jpg", "hung/a"});
  AwaitInside(1);
  clock_.Advance(kStall);
  AwaitAnswers(1);
  hung_.Release();
  AwaitAnswers(2);
}

TEST_CASE_METHOD(
    HungReadsTest,
    "The alarm for hung reads rests while no more threads may hang",
    "[local][hung_reads]") {
  MakeWithClock({.threads = 2, .most_hung = 1});
  Begin("hung/a");
  Begin("hung/b");
  AwaitInside(2);
  BeginAll({"hung/c", "a/x.jpg"});
  clock_.Advance(kStall);
  // By now both reads hang, but the alarm may mark only one.
  AwaitInside(3);
  const int asked = clock_.asked();
  for (int i = 0; i < 10'000 && clock_.asked() - asked <= 100; ++i)
    std::this_thread::yield();
  CHECK(clock_.asked() - asked <= 100);
  hung_.Release();
  AwaitAnswers(4);
}

TEST_CASE_METHOD(
    HungReadsTest,
    "All threads of the local source try what waits behind one that hangs",
    "[local][hung_reads]") {
  MakeWithClock({.threads = 4});
  BeginAll({"hung/a", "hung/b", "hung/c", "hung/d", "a/x.jpg"});
  AwaitInside(1);
  clock_.Advance(kStall);  // the stall is the same for all threads
  AwaitAnswers(1);
  AwaitInside(4);
  CHECK(hung_.inside() == 4);
  hung_.Release();
  AwaitAnswers(5);
}

TEST_CASE_METHOD(HungReadsTest,
                 "A job with too many hung reads lets other jobs pass",
                 "[local][hung_reads]") {
  MakeWithClock({.threads = 1, .most_hung_of_job = 2});
  Begin("hung/a", 1);
  AwaitInside(1);
  BeginAll({"hung/b", "hung/c", "a/x.jpg"}, 1);
  clock_.Advance(kStall);
  Begin("a/x.jpg", 2);
  AwaitInside(2);
  clock_.Advance(kStall);
  Begin("a/x.jpg", 2);
  AwaitAnswers(2);
  CHECK(hung_.inside() == 2);
  hung_.Release();
  AwaitAnswers(6);
}

TEST_CASE_METHOD(HungReadsTest,
                 "Destruction of the local source cancels what waits for a "
                 "hung read of its job",
                 "[local][hung_reads]") {
  MakeWithClock({.threads = 1, .most_hung_of_job = 1});
  Begin("hung/a", 1);
  AwaitInside(1);
  absl::Status status;
  ReadRequest request = Request();
  request.purpose.job = 1;
  request.done = [&](const absl::StatusOr<ReadResult>& result) {
    status = result.status();
  };
  source_->Read({&request, 1});
  clock_.Advance(kStall);
  Begin("a/x.jpg", 2);
  AwaitAnswers(1);
  std::jthread destroyer([this] { source_.reset(); });
  hung_.Release();
  destroyer.join();
  CAPTURE(status);
  CHECK((status.ok() || absl::IsCancelled(status)));
}

TEST_CASE_METHOD(HungReadsTest,
                 "A read that another job pays for passes a job's hung reads",
                 "[local][hung_reads]") {
  HangJob1();
  BeginFor({.job = 1,
            .payers = std::make_shared<const std::vector<std::uint64_t>>(
                std::vector<std::uint64_t>{1, 2})});
  CHECK(AnswersCome(1));
  hung_.Release();
  AwaitAnswers(2);
}

TEST_CASE_METHOD(HungReadsTest,
                 "A read that another job joins passes a job's hung reads",
                 "[local][hung_reads]") {
  HangJob1();
  BeginFor({.job = 1}, /*ticket=*/7);
  BeginFor({.job = 2});
  AwaitAnswers(1);  // the read of job 1 is then set aside
  source_->Share(7, {.job = 2});
  CHECK(AnswersCome(2));
  hung_.Release();
  AwaitAnswers(3);
}

TEST_CASE_METHOD(HungReadsTest, "A hung read counts for each job that wants it",
                 "[local][hung_reads]") {
  HangJob1(/*ticket=*/7);
  BeginFor({.job = 3});
  AwaitAnswers(1);  // the first read then counts as hanging
  source_->Share(7, {.job = 2});
  BeginFor({.job = 2});
  BeginFor({.job = 3});
  AwaitAnswers(2);
  CHECK(answered_ == 2);  // job 2's read is held back
  hung_.Release();
  AwaitAnswers(4);
}

// --- Threads that the system does not start.

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source refuses reads that can have no thread",
                 "[local][hung_reads]") {
  {
    const base::NoThreads refused;
    ExpectError(Request(), absl::StatusCode::kUnavailable,
                "the system gives the daemon no thread");
  }
  CHECK(*Read(Request()) == "0123456789");
}

TEST_CASE_METHOD(HungReadsTest,
                 "The local source begins threads for reads alone",
                 "[local][hung_reads]") {
  const auto threads = [] {
    int count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(entry.path() / "comm"), name);
      if (name.starts_with("forebay-read")) ++count;
    }
    return count;
  };
  CHECK(threads() == 0);
  Begin("a/x.jpg");
  while (answered_ < 1) std::this_thread::yield();
  CHECK(threads() == 1);
}

}  // namespace
}  // namespace forebay::storage::local
