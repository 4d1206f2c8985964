#include "server/base/start_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

int PriorityOf(pid_t thread) {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
}

TEST_CASE("A started thread runs the body", "[base][start_thread]") {
  std::atomic<int> runs = 0;
  std::thread thread = StartThread([&] { ++runs; });
  REQUIRE(thread.joinable());
  thread.join();
  CHECK(runs == 1);
}

TEST_CASE("A started thread has not the low priority of who starts it",
          "[base][start_thread]") {
  PrepareToStartThreads();
  int priority = 100;
  int lowered = -1;
  std::thread([&] {
    lowered = setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 15);
    StartThread([&] { priority = PriorityOf(gettid()); }).join();
  }).join();
  REQUIRE(lowered == 0);
  CHECK(priority == PriorityOf(getpid()));
}

TEST_CASE("Many threads may start others at once", "[base][start_thread]") {
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.push_back(StartThread([&] {
      for (int j = 0; j < 20; ++j) StartThread([&] { ++runs; }).join();
    }));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(runs == 160);
}

TEST_CASE("A refused thread is not joinable and runs nothing",
          "[base][start_thread]") {
  std::thread thread;
  bool ran = false;
  {
    const NoThreads refused;
    thread = StartThread([&] { ran = true; });
  }
  CHECK_FALSE(thread.joinable());
  CHECK_FALSE(ran);
}

}  // namespace
}  // namespace forebay::base
