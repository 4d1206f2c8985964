#include "server/base/mutex.h"

#include <chrono>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST_CASE("A mutex excludes other threads", "[base][mutex]") {
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
  CHECK(counter.value == 40'000);
}

TEST_CASE("A condition variable wakes who waits", "[base][mutex]") {
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
  CHECK(counter.value == 2);
}

TEST_CASE("A wait for a condition variable gives up in time", "[base][mutex]") {
  Counter counter;
  MutexLock lock(&counter.mutex);
  // WaitFor may wake without a reason, so the test waits again until the time
  // is up.
  while (counter.changed.WaitFor(&counter.mutex, std::chrono::nanoseconds(1))) {
  }
  SUCCEED("it has given up");
}

}  // namespace
}  // namespace forebay::base
