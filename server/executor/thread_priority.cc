#include "server/executor/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace forebay::executor {
namespace {

// The niceness that a low priority adds. In the kernel's table of weights
// (sched_prio_to_weight), 5 steps of niceness divide the weight by about 3.
constexpr int kLowNice = 5;
// The slice of a thread with long tasks. The kernel's default
// (kernel/sched/fair.c) is some 0.7 ms * (1 + log2(CPUs)), with at most 8 CPUs.
constexpr std::uint64_t kLongSliceNanos = 10'000'000;

// The first version of `struct sched_attr` (sched_setattr(2)). The kernel's
// header that defines it cannot be included together with <sched.h>.
struct SchedAttr {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  // The length of a slice in nanoseconds, for threads of SCHED_OTHER.
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};

}  // namespace

void LowerPriority(pid_t thread) {
  const auto id = static_cast<id_t>(thread);
  // Linux applies PRIO_PROCESS to the single thread with this id. 19 is the
  // highest niceness.
  setpriority(PRIO_PROCESS, id,
              std::min(getpriority(PRIO_PROCESS, id) + kLowNice, 19));
}

void LengthenSlices(pid_t thread) {
  SchedAttr attr = {};
  if (syscall(SYS_sched_getattr, thread, &attr, sizeof(attr), 0) != 0) return;
  if (attr.policy != SCHED_OTHER) return;
  attr.runtime = kLongSliceNanos;
  syscall(SYS_sched_setattr, thread, &attr, 0);
}

}  // namespace forebay::executor
