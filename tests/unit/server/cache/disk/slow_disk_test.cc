// Tests of a disk whose reads take longer than reads of the source.

#include <cerrno>
#include <future>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using tests::SizeIs;

constexpr std::int64_t kMilli = 1'000'000;
constexpr int kThreads = 2;  // threads of the tier

// A tier that has all objects. The destructor waits until no read hangs.
class SlowDiskTest {
 protected:
  using Answer = std::future<std::string>;

  SlowDiskTest() {
    for (int i = 0; i < 6; ++i) {
      const std::string name = "object" + std::to_string(i);
      requests_.push_back(house_.Request(name, house_.Put(name, 1000)));
      house_.ReadAndSettle(requests_.back());
    }
  }
  ~SlowDiskTest() { Recover(); }

  Answer Ask(std::size_t object) {
    auto promise = std::make_shared<std::promise<std::string>>();
    storage::ReadRequest request = requests_[object];
    request.done =
        [promise](const absl::StatusOr<storage::ReadResult>& result) {
          promise->set_value(CacheHouse::TextOf(result));
        };
    house_.cache().Read({&request, 1});
    return promise->get_future();
  }
  // Starts hits until both threads hang and more hits are queued.
  std::vector<Answer> Hang() {
    house_.faults().reads_done = 0;
    house_.faults().hangs = true;
    std::vector<Answer> answers;
    for (int i = 0; i < kThreads; ++i) answers.push_back(Ask(i));
    while (house_.faults().reads_done < kThreads) std::this_thread::yield();
    for (int i = kThreads; i < 5; ++i) answers.push_back(Ask(i));
    return answers;
  }
  // Reads a hit that takes `nanos` nanoseconds.
  void ReadFor(std::int64_t nanos) {
    house_.faults().reads_done = 0;
    house_.faults().hangs = true;
    Answer answer = Ask(0);
    while (house_.faults().reads_done == 0) std::this_thread::yield();
    house_.clock().Advance(nanos);
    Recover();
    CHECK(answer.get() == Truth(0));
  }
  void Recover() {
    house_.faults().hangs = false;
    house_.faults().hangs.notify_all();
  }
  std::string Truth(std::size_t object) {
    return house_.Truth(requests_[object]);
  }
  int TimesBelow(std::size_t object) {
    return house_.below().times(requests_[object].object);
  }
  DiskSnapshot Counted() { return house_.cache().Snapshot(); }

  DiskHouse house_{std::uint64_t{64} << 20};
  std::vector<storage::ReadRequest> requests_;
};

TEST_CASE_METHOD(
    SlowDiskTest,
    "The disk tier reads from below what waits for a disk that hangs",
    "[disk][slow_disk]") {
  std::vector<Answer> answers = Hang();
  house_.clock().Advance(999 * kMilli);
  house_.cache().Tick();
  CHECK_FALSE(Counted().off);
  house_.clock().Advance(2 * kMilli);
  house_.cache().Tick();
  CHECK(Counted().off);
  for (int i = kThreads; i < 5; ++i) {
    CHECK(answers[i].get() == Truth(i));
    CHECK(TimesBelow(i) == 2);
  }
  CHECK(Ask(5).get() == Truth(5));
  CHECK(TimesBelow(5) == 2);
  Recover();
  for (int i = 0; i < kThreads; ++i) {
    CHECK(answers[i].get() == Truth(i));
    CHECK(TimesBelow(i) == 1);
  }
  house_.Settle();
  // Each entry was written only once.
  CHECK(Counted().written.reads == requests_.size());
}

TEST_CASE_METHOD(SlowDiskTest,
                 "A reader that joined a disk hit also joins the read below "
                 "that replaces it",
                 "[disk][slow_disk]") {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    requests_[i].ticket = 100 + i;
  }
  std::vector<Answer> answers = Hang();
  house_.cache().Share(100, {.job = 2});
  house_.cache().Share(102, {.job = 3});
  CHECK_THAT(house_.below().shares(), SizeIs(2));
  house_.clock().Advance(1001 * kMilli);
  house_.cache().Tick();  // queued hits are now read from the source below
  answers[2].get();
  auto shares = house_.below().shares();
  REQUIRE_THAT(shares, SizeIs(3));
  CHECK(shares[2].first == 102);
  CHECK(shares[2].second.job == 3);
  // These hits are read from the source below, too, because the disk fails.
  house_.faults().read = EIO;
  Recover();
  for (Answer& answer : answers) {
    if (answer.valid()) answer.get();
  }
  house_.Close();
  shares = house_.below().shares();
  REQUIRE_THAT(shares, SizeIs(4));
  CHECK(shares[3].first == 100);
  CHECK(shares[3].second.job == 2);
}

TEST_CASE_METHOD(SlowDiskTest,
                 "The disk tier tries a disk again after it has hung",
                 "[disk][slow_disk]") {
  std::vector<Answer> answers = Hang();
  house_.clock().Advance(1001 * kMilli);
  CHECK(Ask(5).get() == Truth(5));  // a read notices that the disk hangs
  Recover();
  for (Answer& answer : answers) answer.get();
  house_.clock().Advance(1000 * kMilli);
  CHECK_FALSE(Counted().off);
  const auto hits = Counted().hits.reads;
  CHECK(Ask(5).get() == Truth(5));
  CHECK(Counted().hits.reads == hits + 1);
  CHECK(TimesBelow(5) == 2);
}

TEST_CASE_METHOD(
    SlowDiskTest,
    "The disk tier leaves a disk alone when most of its reads are slow",
    "[disk][slow_disk]") {
  for (int i = 0; i < 63; ++i) ReadFor(101 * kMilli);
  for (int i = 0; i < 5; ++i) ReadFor(99 * kMilli);
  for (int i = 0; i < 5; ++i) ReadFor(101 * kMilli);
  CHECK(TimesBelow(0) == 1);
  ReadFor(101 * kMilli);
  house_.cache().Tick();
  CHECK(Counted().off);
  CHECK(Ask(0).get() == Truth(0));
  CHECK(TimesBelow(0) == 2);
}

TEST_CASE_METHOD(
    SlowDiskTest,
    "The disk tier waits longer for a slow disk where the source is slow too",
    "[disk][slow_disk]") {
  house_.faulty().Hold();
  std::vector<Answer> misses;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "far" + std::to_string(i);
    requests_.push_back(house_.Request(name, house_.Put(name, 1000)));
    misses.push_back(Ask(requests_.size() - 1));
  }
  house_.clock().Advance(3000 * kMilli);
  house_.faulty().Release();
  for (Answer& miss : misses) miss.get();
  const std::vector<Answer> answers = Hang();
  house_.clock().Advance(5000 * kMilli);
  house_.cache().Tick();
  CHECK_FALSE(Counted().off);
  house_.clock().Advance(3000 * kMilli);
  house_.cache().Tick();
  CHECK(Counted().off);
}

}  // namespace
}  // namespace forebay::cache::disk
