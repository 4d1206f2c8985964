#include "server/executor/thread_pool_executor.h"

#include <pthread.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "server/base/check.h"

// A sleeper is woken for a task only when those already on their way do not
// suffice; workers that are awake look into the queue themselves. Reading a
// thread's CPU time is a system call, so one reading ends a task and begins the
// next.

namespace forebay::executor {

ThreadPoolExecutor::ThreadPoolExecutor(int workers,
                                       const base::Clock* cpu_clock)
    : workers_(workers), cpu_clock_(cpu_clock) {
  FOREBAY_CHECK(workers > 0);
  threads_.reserve(workers);
  for (int worker = 0; worker < workers; ++worker)
    threads_.emplace_back([this, worker] { Work(worker); });
}

ThreadPoolExecutor::~ThreadPoolExecutor() { Stop(); }

void ThreadPoolExecutor::Stop() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  task_or_end_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (;;) {
    std::optional<schedule::FairQueue<Task>::Popped> dropped;
    base::MutexLock lock(&mutex_);
    dropped = queue_.Pop();
    if (!dropped.has_value()) return;
    queue_.Complete(dropped->flow, dropped->cost, 0);
  }
}

void ThreadPoolExecutor::Submit(schedule::Flow flow, std::int64_t cost_nanos,
                                Task task) {
  {
    base::MutexLock lock(&mutex_);
    if (ending_) return;
    queue_.Push(flow, cost_nanos, /*urgency=*/0, std::move(task));
    if (waking_ == asleep_ ||
        static_cast<std::size_t>(waking_) >= queue_.size())
      return;
    ++waking_;
  }
  task_or_end_.NotifyOne();
}

void ThreadPoolExecutor::SetWeight(schedule::Flow flow, double weight) {
  base::MutexLock lock(&mutex_);
  queue_.SetWeight(flow, weight);
}

void ThreadPoolExecutor::Forget(schedule::Flow flow) {
  base::MutexLock lock(&mutex_);
  queue_.Forget(flow);
}

std::size_t ThreadPoolExecutor::queued() const {
  base::MutexLock lock(&mutex_);
  return queue_.size();
}

int ThreadPoolExecutor::busy() const {
  base::MutexLock lock(&mutex_);
  return static_cast<int>(queue_.in_flight());
}

void ThreadPoolExecutor::Work(int worker) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-cpu-%d", worker);
  pthread_setname_np(pthread_self(), name);

  std::int64_t begin = cpu_clock_->NowNanos();
  mutex_.Lock();
  while (!ending_) {
    std::optional<schedule::FairQueue<Task>::Popped> next = queue_.Pop();
    if (!next) {
      ++asleep_;
      task_or_end_.Wait(&mutex_);
      --asleep_;
      if (waking_ > 0) --waking_;
      continue;
    }
    mutex_.Unlock();
    next->item(worker);
    next->item = nullptr;  // what it holds is let go without the lock
    const std::int64_t end = cpu_clock_->NowNanos();
    mutex_.Lock();
    queue_.Complete(next->flow, next->cost, end - begin);
    begin = end;
  }
  mutex_.Unlock();
}

}  // namespace forebay::executor
