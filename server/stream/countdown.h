#ifndef FOREBAY_SERVER_STREAM_COUNTDOWN_H_
#define FOREBAY_SERVER_STREAM_COUNTDOWN_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::stream {

// Lets one thread wait until a number of things are done elsewhere, or until it
// is called off. Thread-safe; shared by who waits and who does. Await blocks;
// nothing else does. No errors.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : left_(count) {}

  void Done() {
    base::MutexLock lock(&mutex_);
    if (--left_ == 0) changed_.NotifyAll();
  }
  void CallOff() {
    base::MutexLock lock(&mutex_);
    off_ = true;
    changed_.NotifyAll();
  }
  // Whether nobody waits for the rest any more.
  bool off() const {
    base::MutexLock lock(&mutex_);
    return off_;
  }
  // False: it was called off; the rest may still be under way.
  bool Await() {
    base::MutexLock lock(&mutex_);
    while (left_ > 0 && !off_) changed_.Wait(&mutex_);
    return left_ == 0;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::size_t left_ ABSL_GUARDED_BY(mutex_);
  bool off_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_COUNTDOWN_H_
