#ifndef FOREBAY_SERVER_FETCH_COUNTDOWN_H_
#define FOREBAY_SERVER_FETCH_COUNTDOWN_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::fetch {

// Lets one thread wait until a number of things are done by others, or until
// somebody cancels. Thread-safe; shared by the thread that waits and those that
// do them. Only Await blocks. No errors.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : left_(count) {}

  void Done() {
    base::MutexLock lock(&mutex_);
    if (--left_ == 0) changed_.NotifyAll();
  }
  void Cancel() {
    base::MutexLock lock(&mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
  }
  // Whether nobody waits for the rest any more.
  bool cancelled() const {
    base::MutexLock lock(&mutex_);
    return cancelled_;
  }
  // Returns false if cancelled; the rest may still be under way.
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
