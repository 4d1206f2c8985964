#include "server/executor/thread_priority.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

namespace forebay::executor {
namespace {

// The slice that a thread has asked for, in nanoseconds: `sched_runtime` of
// sched_getattr(2), which lies behind 24 bytes. Linux before 6.12 has 0.
std::uint64_t SliceOfCaller() {
  std::array<char, 48> attr = {};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, attr.data(), attr.size(), 0), 0);
  std::uint64_t runtime;
  std::memcpy(&runtime, attr.data() + 24, sizeof(runtime));
  return runtime;
}

TEST(ThreadPriorityTest, LowersThatOfOneThread) {
  int before = 0;
  int after = 0;
  std::thread([&] {
    before = getpriority(PRIO_PROCESS, 0);
    LowerPriority(gettid());
    after = getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_GE(after, std::min(before + 1, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(ThreadPriorityTest, LengthensTheSlicesOfOneThread) {
  const std::uint64_t usual = SliceOfCaller();
  std::uint64_t slice = 0;
  int nice = 0;
  int policy = -1;
  std::thread([&] {
    LowerPriority(gettid());
    nice = getpriority(PRIO_PROCESS, 0);
    LengthenSlices(gettid());
    slice = SliceOfCaller();
    policy = sched_getscheduler(0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
  }).join();
  EXPECT_EQ(slice, usual == 0 ? 0 : 10'000'000) << "Linux before 6.12: 0";
  EXPECT_EQ(policy, sched_getscheduler(0));
  EXPECT_EQ(SliceOfCaller(), usual);
}

}  // namespace
}  // namespace forebay::executor
