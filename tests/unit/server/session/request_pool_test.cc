#include "server/session/request_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace forebay::session {
namespace {

TEST(RequestPoolTest, RunsRequestsSideBySide) {
  RequestPool pool(3);
  // Each waits for the others: one thread alone would never end this.
  std::latch together(3);
  std::latch done(3);
  for (int i = 0; i < 3; ++i) {
    pool.Run([&] {
      together.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(RequestPoolTest, WaitsForWhatRunsAndDropsTheRest) {
  std::atomic<int> ran = 0;
  {
    RequestPool pool(1);
    std::latch begun(1);
    std::latch may_end(1);
    pool.Run([&] {
      begun.count_down();
      may_end.wait();
      ++ran;
    });
    begun.wait();
    may_end.count_down();
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace forebay::session
