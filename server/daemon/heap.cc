#include "server/daemon/heap.h"

#include <malloc.h>

#include <algorithm>

namespace forebay::daemon {
namespace {

// The number of bytes from which malloc gives a piece a mapping of its own.
// Most photographs are smaller. They are allocated all the time, and each
// mapping would cost system calls and page faults.
constexpr int kMappedBytes = 2 << 20;

// The free bytes that an arena keeps at its end.
constexpr int kTrimThreshold = 1 << 20;

// The number of arenas on a host of few CPUs: enough for busy threads that do
// not belong to the executor.
constexpr int kFewArenas = 8;

}  // namespace

void SetUpHeap(int cpus) {
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
  mallopt(M_ARENA_MAX, std::max(cpus, kFewArenas));
}

}  // namespace forebay::daemon
