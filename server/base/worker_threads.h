#ifndef FOREBAY_SERVER_BASE_WORKER_THREADS_H_
#define FOREBAY_SERVER_BASE_WORKER_THREADS_H_

#include <cstddef>
#include <functional>

namespace forebay::base {

// Runs `work` on `threads` threads at once, the calling one included, and
// returns when it has ended on all. There are fewer threads if the system gives
// no more, so each call must take from a common store of work until that is
// empty. `threads` is at least 1.
void RunOnThreads(std::size_t threads, const std::function<void()>& work);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_WORKER_THREADS_H_
