#include "server/producer/memory_watch.h"

#include <optional>
#include <utility>

namespace forebay::producer {

MemoryWatch::~MemoryWatch() {
  std::unique_ptr<base::Alarm> alarm;  // its end waits for Check
  base::MutexLock lock(&mutex_);
  alarm = std::move(alarm_);
}

std::shared_ptr<const LimitedProducer> MemoryWatch::Add(
    std::shared_ptr<MemoryGroup> group, std::unique_ptr<Process> process) {
  auto producer = limiter_.Add(std::move(group), std::move(process));
  base::MutexLock lock(&mutex_);
  added_ = true;
  if (alarm_ == nullptr)
    alarm_ =
        std::make_unique<base::Alarm>("forebay-memory", [this] { Check(); });
  alarm_->SetFor(clock_->NowNanos());
  return producer;
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

}  // namespace forebay::producer
