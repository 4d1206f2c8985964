#include "server/base/alarm.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace forebay::base {

Alarm::Alarm(std::string name, std::function<void()> ring, const Clock* clock)
    : ring_(std::move(ring)),
      clock_(clock),
      thread_([this, name = std::move(name)] { Work(name); }) {}

Alarm::~Alarm() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  sooner_or_end_.NotifyOne();
  thread_.join();
}

void Alarm::SetFor(std::int64_t at_nanos) {
  bool sooner = false;
  {
    MutexLock lock(&mutex_);
    at_nanos_ = at_nanos;
    // A thread that wakes too early sleeps on.
    sooner = at_nanos < asleep_until_;
    if (sooner) asleep_until_ = at_nanos;
  }
  if (sooner) sooner_or_end_.NotifyOne();
}

void Alarm::Work(const std::string& name) {
  pthread_setname_np(pthread_self(), name.c_str());
  mutex_.Lock();
  while (!ending_) {
    const std::int64_t now = clock_->NowNanos();
    if (at_nanos_ <= now) {
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
