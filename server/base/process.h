#ifndef FOREBAY_SERVER_BASE_PROCESS_H_
#define FOREBAY_SERVER_BASE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

namespace forebay::base {

// These functions ask the kernel about another process. They may be called from
// any thread, and never block.

// Returns the CPU time that the threads of process `pid` have spent, in
// nanoseconds; -1 if no such process is visible.
std::int64_t ProcessCpuNanos(pid_t pid);

// Returns whether the main thread of process `pid` runs or is ready to run:
// state "R" of /proc/PID/stat (proc(5)). Returns false if no such process is
// visible.
bool IsProcessRunnable(pid_t pid);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_PROCESS_H_
