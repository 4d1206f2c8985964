#include "server/worker/memory_watch.h"

#include <optional>
#include <utility>

namespace forebay::worker {

MemoryWatch::~MemoryWatch() {
  // The alarm's destructor waits for Check, which takes the mutex. The alarm is
  // moved here to be destroyed after the lock.
  std::unique_ptr<base::Alarm> alarm;
  base::MutexLock lock(&mutex_);
  alarm = std::move(alarm_);
}

std::shared_ptr<const LimitedWorker> MemoryWatch::Add(
    std::shared_ptr<MemoryGroup> group, std::unique_ptr<Process> process) {
  auto worker = limiter_.Add(std::move(group), std::move(process));
  base::MutexLock lock(&mutex_);
  added_ = true;
  if (alarm_ == nullptr)
    alarm_ =
        std::make_unique<base::Alarm>("forebay-memory", [this] { Check(); });
  alarm_->SetFor(clock_->NowNanos());
  return worker;
}

void MemoryWatch::Check() {
  {
    base::MutexLock lock(&mutex_);
    added_ = false;
  }
  const std::optional<std::int64_t> wait = limiter_.Check();
  base::MutexLock lock(&mutex_);
  if (wait.has_value() && !added_ && alarm_ != nullptr)
    alarm_->SetFor(clock_->NowNanos() + *wait);
}

}  // namespace forebay::worker
