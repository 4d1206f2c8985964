#include "server/daemon/heap.h"

#include <malloc.h>

#include <algorithm>

namespace forebay::daemon {
namespace {

// Larger than a photograph's bytes: these come and go all the time, and mapping
// costs faults.
constexpr int kMappedBytes = 2 << 20;

// Free bytes that an arena keeps at its end.
constexpr int kKeptBytes = 1 << 20;

// Enough for the threads that are busy at once beside the workers.
constexpr int kFewArenas = 8;

}  // namespace

void SetUpHeap(int cpus) {
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_ARENA_MAX, std::max(cpus, kFewArenas));
}

}  // namespace forebay::daemon
