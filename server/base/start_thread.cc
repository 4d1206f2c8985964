#include "server/base/start_thread.h"

#include <pthread.h>

#include <deque>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::base {
namespace {

// Starts `body` from the calling thread. Returns a thread that is not joinable
// if the system refuses it.
std::thread StartHere(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error&) {
    return {};
  }
}

// The starter thread, and the queue of threads that it is to start.
//
// Thread-safe. Lives as long as the process and is never destroyed, because the
// starter thread is detached. Start blocks until the thread is created. Has no
// errors: a thread that the system refuses is not joinable.
class Starter {
 public:
  static Starter& OfProcess() {
    static Starter* const starter = new Starter;
    return *starter;
  }

  // Makes the starter thread unless it exists. Returns whether it exists.
  bool Prepare() {
    MutexLock lock(&mutex_);
    if (runs_) return true;
    std::thread thread = StartHere([this] { Work(); });
    runs_ = thread.joinable();
    if (runs_) thread.detach();
    return runs_;
  }

  // Lets the starter thread start a thread for `body`, and returns the new
  // thread. Prepare must have returned true before.
  std::thread Start(std::function<void()> body) {
    Order order = {std::move(body)};
    MutexLock lock(&mutex_);
    orders_.push_back(&order);
    ordered_.NotifyOne();
    while (!order.is_done) done_.Wait(&mutex_);
    return std::move(order.thread);
  }

 private:
  // An order to start a thread, and then the started thread. The order lies on
  // the stack of Start's caller. The starter does not touch it once `is_done`.
  struct Order {
    std::function<void()> body;
    std::thread thread = {};
    bool is_done = false;
  };

  void Work() {
    pthread_setname_np(pthread_self(), "forebay-starter");
    mutex_.Lock();
    for (;;) {
      while (orders_.empty()) ordered_.Wait(&mutex_);
      Order* const order = orders_.front();
      orders_.pop_front();
      mutex_.Unlock();
      std::thread thread = StartHere(std::move(order->body));
      mutex_.Lock();
      order->thread = std::move(thread);
      order->is_done = true;
      done_.NotifyAll();
    }
  }

  Mutex mutex_;
  CondVar ordered_;
  CondVar done_;
  bool runs_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Order*> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::thread StartThread(std::function<void()> body) {
  Starter& starter = Starter::OfProcess();
  return starter.Prepare() ? starter.Start(std::move(body))
                           : StartHere(std::move(body));
}

void PrepareToStartThreads() { Starter::OfProcess().Prepare(); }

}  // namespace forebay::base
