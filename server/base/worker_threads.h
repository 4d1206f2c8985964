#ifndef FOREBAY_SERVER_BASE_WORKER_THREADS_H_
#define FOREBAY_SERVER_BASE_WORKER_THREADS_H_

#include <cstddef>
#include <functional>

namespace forebay::base {

// Runs `work` on up to `threads` threads at once, including the calling thread,
// and returns when `work` has ended on all of them. `threads` is at least 1.
//
// The system may refuse some of the threads. Each call of `work` must therefore
// take pieces from a common supply until none are left. Blocks as long as
// `work` does. Has no errors.
void RunOnThreads(std::size_t threads, const std::function<void()>& work);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_WORKER_THREADS_H_
