#ifndef FOREBAY_SERVER_BASE_PROCESS_H_
#define FOREBAY_SERVER_BASE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

namespace forebay::base {

// Facts that the kernel tells of another process. Any thread; never blocks.

// The CPU time that it has spent, in nanoseconds. Returns -1 if there is none
// of that number to be seen.
std::int64_t ProcessCpuNanos(pid_t pid);

// Whether its main thread computes, or waits for nothing but a core. Returns
// false if there is none of that number to be seen.
bool IsProcessRunnable(pid_t pid);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_PROCESS_H_
