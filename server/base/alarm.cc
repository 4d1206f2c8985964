#include "server/base/alarm.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "server/base/start_thread.h"

namespace forebay::base {

Alarm::Alarm(std::string name, std::function<void()> ring, const Clock* clock)
    : name_(std::move(name)), ring_(std::move(ring)), clock_(clock) {
  MutexLock lock(&mutex_);
  StartLocked();
}

Alarm::~Alarm() {
  std::thread thread;
  {
    MutexLock lock(&mutex_);
    ending_ = true;
    thread.swap(thread_);
  }
  sooner_or_end_.NotifyOne();
  if (thread.joinable()) thread.join();
}

void Alarm::StartLocked() {
  thread_ = StartThread([this] { Work(); });
}

bool Alarm::SetFor(std::int64_t at_nanos) {
  bool sooner = false;
  {
    MutexLock lock(&mutex_);
    at_nanos_ = at_nanos;
    // A later time needs no wake: the thread wakes at the earlier time, sees
    // that nothing is due, and sleeps again.
    sooner = at_nanos < asleep_until_;
    if (sooner) asleep_until_ = at_nanos;
    if (!thread_.joinable()) StartLocked();
    if (!thread_.joinable()) return false;
  }
  if (sooner) sooner_or_end_.NotifyOne();
  return true;
}

bool Alarm::has_thread() const {
  MutexLock lock(&mutex_);
  return thread_.joinable();
}

void Alarm::Work() {
  pthread_setname_np(pthread_self(), name_.c_str());
  mutex_.Lock();
  while (!ending_) {
    const std::int64_t now = clock_->NowNanos();
    if (at_nanos_ <= now) {
      // The time is cleared before the call, so that `ring` can set the next
      // one.
      at_nanos_ = INT64_MAX;
      mutex_.Unlock();
      ring_();
      mutex_.Lock();
      continue;
    }
    asleep_until_ = at_nanos_;
    if (at_nanos_ == INT64_MAX) {
      sooner_or_end_.Wait(&mutex_);
    } else {
      sooner_or_end_.WaitFor(&mutex_,
                             std::chrono::nanoseconds(at_nanos_ - now));
    }
  }
  mutex_.Unlock();
}

}  // namespace forebay::base
