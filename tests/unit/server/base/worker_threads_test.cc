#include "server/base/worker_threads.h"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

TEST(WorkerThreadsTest, RunsOnAsManyAsAskedForAtOnce) {
  std::latch all(4);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  RunOnThreads(4, [&] {
    all.arrive_and_wait();
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(WorkerThreadsTest, OneThreadIsThisOne) {
  std::thread::id id;
  RunOnThreads(1, [&] { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(WorkerThreadsTest, ManagesWithoutThreads) {
  const NoThreads none;
  EXPECT_THROW(std::thread([] {}), std::system_error);
  int calls = 0;
  RunOnThreads(8, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace forebay::base
