#include "server/base/worker_threads.h"

#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

TEST_CASE("Work runs on as many worker threads at once as asked for",
          "[base][worker_threads]") {
  std::latch all(4);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  RunOnThreads(4, [&] {
    all.arrive_and_wait();
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  CHECK(seen.size() == 4u);
  CHECK(seen.contains(std::this_thread::get_id()));
}

TEST_CASE("A single worker thread is the calling one",
          "[base][worker_threads]") {
  std::thread::id id;
  RunOnThreads(1, [&] { id = std::this_thread::get_id(); });
  CHECK(id == std::this_thread::get_id());
}

TEST_CASE("Work for several threads manages without worker threads",
          "[base][worker_threads]") {
  const NoThreads none;
  CHECK_THROWS_AS(std::thread([] {}), std::system_error);
  int calls = 0;
  RunOnThreads(8, [&] { ++calls; });
  CHECK(calls == 1);
}

}  // namespace
}  // namespace forebay::base
