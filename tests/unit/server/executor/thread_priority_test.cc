#include "server/executor/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/catch/catch.h"

namespace forebay::executor {
namespace {

// Returns the slice that the calling thread has requested, in nanoseconds:
// `sched_runtime` of sched_getattr(2), at byte 24. Linux before 6.12 gives 0.
// Returns UINT64_MAX if the call failed. Any thread may call it.
std::uint64_t SliceOfCaller() {
  std::array<char, 48> attr = {};
  if (syscall(SYS_sched_getattr, 0, attr.data(), attr.size(), 0) != 0)
    return UINT64_MAX;
  std::uint64_t runtime;
  std::memcpy(&runtime, attr.data() + 24, sizeof(runtime));
  return runtime;
}

TEST_CASE("Lowering a thread's priority leaves that of other threads alone",
          "[executor][thread_priority]") {
  int before = 0;
  int after = 0;
  std::thread([&] {
    before = getpriority(PRIO_PROCESS, 0);
    LowerPriority(gettid());
    after = getpriority(PRIO_PROCESS, 0);
  }).join();
  CHECK(after >= std::min(before + 1, 19));
  CHECK(getpriority(PRIO_PROCESS, 0) == before);
}

TEST_CASE(
    "Lengthening a thread's time slices leaves those of other threads alone",
    "[executor][thread_priority]") {
  const std::uint64_t usual = SliceOfCaller();
  std::uint64_t slice = 0;
  int nice = 0;
  int nice_after = -1;
  int policy = -1;
  std::thread([&] {
    LowerPriority(gettid());
    nice = getpriority(PRIO_PROCESS, 0);
    LengthenSlices(gettid());
    slice = SliceOfCaller();
    policy = sched_getscheduler(0);
    nice_after = getpriority(PRIO_PROCESS, 0);
  }).join();
  CHECK(nice_after == nice);
  UNSCOPED_INFO("Linux before 6.12: 0");
  CHECK(slice == (usual == 0 ? 0 : 10'000'000));
  CHECK(policy == sched_getscheduler(0));
  CHECK(SliceOfCaller() == usual);
}

}  // namespace
}  // namespace forebay::executor
