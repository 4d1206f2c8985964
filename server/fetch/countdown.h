#ifndef FOREBAY_SERVER_FETCH_COUNTDOWN_H_
#define FOREBAY_SERVER_FETCH_COUNTDOWN_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::fetch {

// Lets one thread wait until other threads have called Done a given number of
// times, or until a thread calls Cancel. Thread-safe; shared by all these
// threads. Only Await blocks. Has no errors.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : left_(count) {}

  // Counts one call.
  void Done() {
    base::MutexLock lock(&mutex_);
    if (--left_ == 0) changed_.NotifyAll();
  }
  // Makes Await return.
  void Cancel() {
    base::MutexLock lock(&mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
  }
  // Whether Cancel was called. If so, nobody waits for further calls of Done.
  bool cancelled() const {
    base::MutexLock lock(&mutex_);
    return cancelled_;
  }
  // Blocks until Done was called `count` times, or Cancel is called. Returns
  // whether all calls of Done were made.
  bool Await() {
    base::MutexLock lock(&mutex_);
    while (left_ > 0 && !cancelled_) changed_.Wait(&mutex_);
    return left_ == 0;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::size_t left_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_COUNTDOWN_H_
