#include "server/session/request_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"

namespace forebay::session {
namespace {

// Waits as long as it takes: the test's own limit ends a hang.
void Until(const std::function<bool()>& condition) {
  while (!condition()) sched_yield();
}

// A resource that hangs until it is let go.
class Hang {
 public:
  ~Hang() { Go(); }

  // Waits for the resource.
  void Await() {
    base::MutexLock lock(&mutex_);
    ++held_;
    while (hangs_) changed_.Wait(&mutex_);
  }
  void Go() {
    base::MutexLock lock(&mutex_);
    hangs_ = false;
    changed_.NotifyAll();
  }
  // The number of calls that have begun.
  int held() const {
    base::MutexLock lock(&mutex_);
    return held_;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = true;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(RequestPoolTest, RunsRequestsOfOneKeySideBySide) {
  RequestPool pool;
  // Each waits for the others: one thread alone would never end this.
  std::latch together(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    pool.Run({"key"}, [&] {
      together.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(RequestPoolTest, HasNoThreadWithoutRequests) {
  RequestPool pool({.max_threads = 4, .idle = std::chrono::nanoseconds(0)});
  EXPECT_EQ(pool.threads(), 0);
  std::latch done(1);
  pool.Run({"key"}, [&] {
    EXPECT_EQ(pool.threads(), 1);
    done.count_down();
  });
  done.wait();
  Until([&] { return pool.threads() == 0; });
}

TEST(RequestPoolTest, UsesIdleThreadsAgain) {
  RequestPool pool({.idle = std::chrono::hours(1)});
  for (int i = 0; i < 200; ++i) {
    std::latch done(1);
    pool.Run({absl::StrCat("key ", i)}, [&] { done.count_down(); });
    done.wait();
  }
  // Some may still be putting their requests away when the next ones come.
  EXPECT_LT(pool.threads(), 100);
}

TEST(RequestPoolTest, ThreadsThatAreNotNeededEndThoughRequestsCome) {
  Hang hang;
  RequestPool pool({.idle = std::chrono::milliseconds(100)});
  for (int i = 0; i < 8; ++i)
    pool.Run({absl::StrCat("key ", i)}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 8; });
  hang.Go();
  // If all took turns, none would be idle for so long.
  Until([&] {
    std::latch done(1);
    pool.Run({"tick"}, [&] { done.count_down(); });
    done.wait();
    return pool.threads() <= 2;
  });
}

TEST(RequestPoolTest, AKeyThatHangsLeavesThreadsToOthers) {
  Hang hang;
  RequestPool pool({.max_threads = 32});
  for (int i = 0; i < 1000; ++i)
    pool.Run({"hangs", {"group"}}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works", {"group"}}, [&] { done.count_down(); });
  done.wait();
  // It begins one more as long as it runs on less than an eighth of the rest.
  Until([&] { return hang.held() == 4; });
  EXPECT_LE(pool.threads(), 5);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST(RequestPoolTest, ManyKeysThatHangLeaveAThreadForOneThatRunsNothing) {
  constexpr int kKeys = 20;
  Hang hang;
  RequestPool pool;
  for (int key = 0; key < kKeys; ++key)
    for (int i = 0; i < 100; ++i)
      pool.Run({absl::StrCat("hangs ", key)}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works"}, [&] { done.count_down(); });
  done.wait();
  EXPECT_GE(hang.held(), kKeys);
  EXPECT_LE(pool.threads(), RequestPool::Options().max_threads);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST(RequestPoolTest, AGroupThatHangsLeavesThreadsToOthers) {
  Hang hang;
  RequestPool pool({.max_threads = 32});
  for (int i = 0; i < 100; ++i)
    pool.Run({absl::StrCat("hangs ", i), {"job"}}, [&] { hang.Await(); });
  std::latch done(1);
  pool.Run({"works", {"another job"}}, [&] { done.count_down(); });
  done.wait();
  Until([&] { return hang.held() == 11; });
  EXPECT_LE(pool.threads(), 12);
  pool.Stop(std::chrono::nanoseconds(0));
  hang.Go();
}

TEST(RequestPoolTest, NeverHasMoreThreadsThanItMay) {
  Hang hang;
  RequestPool pool({.max_threads = 3});
  for (int i = 0; i < 100; ++i)
    pool.Run({absl::StrCat("key ", i)}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 3; });
  EXPECT_EQ(pool.threads(), 3);
  // All of the others run in the end.
  hang.Go();
  Until([&] { return hang.held() == 100; });
}

TEST(RequestPoolTest, RequestsOfOneKeyBeginInTheirOrder) {
  Hang hang;
  RequestPool pool({.max_threads = 1});
  pool.Run({"hangs"}, [&] { hang.Await(); });
  std::vector<int> order;
  std::latch done(5);
  for (int i = 0; i < 5; ++i) {
    pool.Run({"key"}, [&, i] {
      order.push_back(i);
      done.count_down();
    });
  }
  hang.Go();
  done.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(RequestPoolTest, KeysTakeTurns) {
  Hang hang;
  RequestPool pool({.max_threads = 1});
  pool.Run({"hangs"}, [&] { hang.Await(); });
  std::string order;
  std::latch done(5);
  for (const char* const key : {"a", "a", "a", "a", "b"}) {
    pool.Run({key}, [&, key] {
      order += key;
      done.count_down();
    });
  }
  hang.Go();
  done.wait();
  EXPECT_EQ(order, "abaaa");
}

TEST(RequestPoolTest, TriesToRunOnlyWhatCanBeginAtOnce) {
  Hang hang;
  RequestPool pool({.max_threads = 16});
  int begun = 0;
  while (pool.TryRun({"hangs"}, [&] { hang.Await(); })) ++begun;
  EXPECT_EQ(begun, 2);
  EXPECT_TRUE(pool.TryRun({"works"}, [] {}));
  Until([&] { return hang.held() == begun; });
  hang.Go();
}

TEST(RequestPoolTest, WaitsForWhatRunsAndDropsTheRest) {
  std::atomic<int> ran = 0;
  {
    RequestPool pool({.max_threads = 1});
    std::latch begun(1);
    std::latch may_end(1);
    pool.Run({"key"}, [&] {
      begun.count_down();
      may_end.wait();
      ++ran;
    });
    pool.Run({"key"}, [&] { ++ran; });
    begun.wait();
    EXPECT_EQ(pool.Stop(std::chrono::nanoseconds(0)),
              std::vector<std::string>{"key"});
    pool.Run({"key"}, [&] { ++ran; });
    may_end.count_down();
  }
  EXPECT_EQ(ran, 1);
}

TEST(RequestPoolTest, SaysWhatHangsWhenItStops) {
  Hang hang;
  RequestPool pool;
  pool.Run({"hangs"}, [&] { hang.Await(); });
  pool.Run({"hangs"}, [&] { hang.Await(); });
  pool.Run({"hangs, too"}, [&] { hang.Await(); });
  Until([&] { return hang.held() == 3; });
  EXPECT_EQ(pool.Stop(std::chrono::nanoseconds(0)),
            (std::vector<std::string>{"hangs", "hangs, too"}));
  hang.Go();
  EXPECT_TRUE(pool.Stop(std::chrono::hours(1)).empty());
}

// A request may hold the last share of what asks for another one.
TEST(RequestPoolTest, ARequestsEndMayAskForAnother) {
  std::latch done(1);
  RequestPool pool;
  struct Owner {
    std::function<void()> at_end;
    ~Owner() { at_end(); }
  };
  auto owner = std::make_shared<Owner>();
  owner->at_end = [&] { pool.Run({"key"}, [&] { done.count_down(); }); };
  pool.Run({"key"}, [owner = std::move(owner)]() mutable { owner = nullptr; });
  done.wait();
}

}  // namespace
}  // namespace forebay::session
