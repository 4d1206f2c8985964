#include "server/executor/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace forebay::executor {
namespace {

// By which a low priority is below the usual one.
constexpr int kLowNice = 5;
// The kernel's own (kernel/sched/fair.c) is some 0.7 ms, times 1 + log2 of up
// to 8 CPUs.
constexpr std::uint64_t kLongSliceNanos = 10'000'000;

// struct sched_attr of sched_setattr(2), of its first version: the header that
// has it does not go together with <sched.h>.
struct SchedAttr {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;  // the length of a slice, for SCHED_OTHER
  std::uint64_t deadline;
  std::uint64_t period;
};

}  // namespace

void LowerPriority(pid_t thread) {
  const auto id = static_cast<id_t>(thread);
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
