// System calls that make the kernel prefer other threads to a given one.
#ifndef FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_
#define FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_

#include <sys/types.h>

namespace forebay::executor {

// Each function acts on one thread of this process, by its kernel id (gettid).
// No call blocks. A call does nothing if the kernel refuses.

// Lowers a thread's priority. Beside a thread of the usual priority, the thread
// then gets about a quarter of the CPU. An unprivileged process cannot raise
// the priority again.
void LowerPriority(pid_t thread);

// Asks the kernel for longer slices of CPU time for a thread, which Linux 6.12
// and later grant. When a thread with shorter slices wakes, it preempts this
// thread at once instead of waiting for its slice to end. The thread's share of
// the CPU stays the same.
void LengthenSlices(pid_t thread);

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_PRIORITY_H_
