// How the kernel treats a thread that others should not wait for.
#ifndef FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_
#define FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_

#include <sys/types.h>

namespace forebay::executor {

// Both act on one thread of this process, by its id. They do not block, and do
// nothing where the kernel refuses.

// Lowers a thread's priority: beside a thread of the usual one, it has a
// quarter of the CPU. Nothing can undo that.
void LowerPriority(pid_t thread);

// Makes the slices of CPU time that a thread is given longer than those of
// others, as Linux 6.12 and later let it ask. A thread with shorter slices that
// wakes then gets the CPU at once, where it would wait for the slice to end.
// The thread's part of the CPU is the same.
void LengthenSlices(pid_t thread);

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_
