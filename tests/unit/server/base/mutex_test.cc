#include "server/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

namespace forebay::base {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, ExcludesOthers) {
  Counter counter;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&counter] {
        for (int i = 0; i < 10'000; ++i) {
          MutexLock lock(&counter.mutex);
          ++counter.value;
        }
      });
  }
  MutexLock lock(&counter.mutex);
  EXPECT_EQ(counter.value, 40'000);
}

TEST(CondVarTest, WakesWhoWaits) {
  Counter counter;
  std::jthread partner([&counter] {
    MutexLock lock(&counter.mutex);
    while (counter.value != 1) counter.changed.Wait(&counter.mutex);
    counter.value = 2;
    counter.changed.NotifyAll();
  });
  MutexLock lock(&counter.mutex);
  counter.value = 1;
  counter.changed.NotifyOne();
  while (counter.value != 2)
    counter.changed.WaitFor(&counter.mutex, std::chrono::hours(1));
}

TEST(CondVarTest, GivesUpInTime) {
  Counter counter;
  MutexLock lock(&counter.mutex);
  // A wake for no reason is allowed, so ask until time is up.
  while (counter.changed.WaitFor(&counter.mutex, std::chrono::nanoseconds(1))) {
  }
}

}  // namespace
}  // namespace forebay::base
