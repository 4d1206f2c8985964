#include "server/base/start_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

int PriorityOf(pid_t thread) {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
}

TEST(StartThreadTest, RunsTheBody) {
  std::atomic<int> runs = 0;
  std::thread thread = StartThread([&] { ++runs; });
  ASSERT_TRUE(thread.joinable());
  thread.join();
  EXPECT_EQ(runs, 1);
}

TEST(StartThreadTest, AThreadHasNotTheLowPriorityOfWhoStartsIt) {
  PrepareToStartThreads();
  int priority = 100;
  std::thread([&] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 15), 0);
    StartThread([&] { priority = PriorityOf(gettid()); }).join();
  }).join();
  EXPECT_EQ(priority, PriorityOf(getpid()));
}

TEST(StartThreadTest, ManyThreadsMayStartOthersAtOnce) {
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.push_back(StartThread([&] {
      for (int j = 0; j < 20; ++j) StartThread([&] { ++runs; }).join();
    }));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 160);
}

TEST(StartThreadTest, ARefusedThreadIsNotJoinable) {
  std::thread thread;
  bool ran = false;
  {
    const NoThreads refused;
    thread = StartThread([&] { ran = true; });
  }
  EXPECT_FALSE(thread.joinable());
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace forebay::base
