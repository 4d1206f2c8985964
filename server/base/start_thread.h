#ifndef FOREBAY_SERVER_BASE_START_THREAD_H_
#define FOREBAY_SERVER_BASE_START_THREAD_H_

#include <functional>
#include <thread>

namespace forebay::base {

// Starts a thread that runs `body`. Returns a thread that is not joinable if
// the system refuses it.
//
// A thread inherits its priority from the thread that starts it. Therefore one
// "starter" thread starts all threads, so that no thread inherits the low
// priority of its caller. If the system refuses the starter, the calling thread
// starts `body` itself.
//
// Thread-safe. May be called with any lock held. Blocks only while threads are
// created.
std::thread StartThread(std::function<void()> body);

// Makes the starter thread, if there is none yet. Call this before the priority
// of any thread is lowered: the starter keeps the priority of the first caller.
void PrepareToStartThreads();

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_START_THREAD_H_
