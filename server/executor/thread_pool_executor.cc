#include "server/executor/thread_pool_executor.h"

#include <pthread.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "server/base/check.h"

// A task wakes a sleeping worker only if those that are waking do not suffice;
// workers that are awake look into the queue themselves. If a cap holds tasks
// up, the alarm wakes a worker when one may run. A worker that takes a task
// wakes the next if there are more. Reading a thread's CPU time is a system
// call, so one reading ends a task and begins the next.

namespace forebay::executor {
namespace {

constexpr double kNanosPerSecond = 1e9;

schedule::Load LoadOf(std::int64_t cpu_nanos) {
  return {.cost = cpu_nanos, .units = cpu_nanos};
}

}  // namespace

ThreadPoolExecutor::ThreadPoolExecutor(int workers,
                                       const ThreadPoolExecutorOptions& options)
    : workers_(workers),
      options_(options),
      added_nanos_(static_cast<std::size_t>(workers), 0),
      alarm_(
          "forebay-cpu-cap", [this] { CapsChanged(); }, options.clock) {
  FOREBAY_CHECK(workers > 0);
  {
    base::MutexLock lock(&mutex_);
    queue_.SetLimit(options.max_cpus * kNanosPerSecond, Now());
  }
  threads_.reserve(workers);
  for (int worker = 0; worker < workers; ++worker)
    threads_.emplace_back([this, worker] { Work(worker); });
}

ThreadPoolExecutor::~ThreadPoolExecutor() { Stop(); }

void ThreadPoolExecutor::Stop() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
    queue_.LiftCaps();
  }
  task_or_end_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (;;) {
    std::optional<Queue::Popped> dropped;
    base::MutexLock lock(&mutex_);
    dropped = queue_.Pop(Now());
    if (!dropped.has_value()) return;
    queue_.Complete(dropped->id, {}, Now());
  }
}

void ThreadPoolExecutor::SubmitFor(absl::Span<const schedule::Flow> flows,
                                   const Demand& demand, Task task) {
  {
    base::MutexLock lock(&mutex_);
    if (ending_) return;
    queue_.PushFor(flows, LoadOf(demand.cpu_nanos), demand.urgency,
                   std::move(task));
    if (!WantsWorkerLocked()) return;
  }
  task_or_end_.NotifyOne();
}

void ThreadPoolExecutor::SetWeight(schedule::Flow flow, double weight) {
  base::MutexLock lock(&mutex_);
  queue_.SetWeight(flow, weight);
}

void ThreadPoolExecutor::SetCap(schedule::Flow flow, double cpus) {
  {
    base::MutexLock lock(&mutex_);
    if (!ending_) queue_.SetCap(flow, cpus * kNanosPerSecond, Now());
  }
  CapsChanged();
}

void ThreadPoolExecutor::Forget(schedule::Flow flow) {
  {
    base::MutexLock lock(&mutex_);
    queue_.Forget(flow);
  }
  CapsChanged();
}

std::size_t ThreadPoolExecutor::queued() const {
  base::MutexLock lock(&mutex_);
  return queue_.size();
}

int ThreadPoolExecutor::busy() const {
  base::MutexLock lock(&mutex_);
  return static_cast<int>(queue_.in_flight());
}

void ThreadPoolExecutor::CapsChanged() {
  {
    base::MutexLock lock(&mutex_);
    if (!WantsWorkerLocked()) return;
  }
  task_or_end_.NotifyOne();
}

bool ThreadPoolExecutor::WantsWorkerLocked() {
  if (waking_ == asleep_ || static_cast<std::size_t>(waking_) >= queue_.size())
    return false;
  ++waking_;
  return true;
}

void ThreadPoolExecutor::Work(int worker) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-cpu-%d", worker);
  pthread_setname_np(pthread_self(), name);

  const base::Clock& cpu_clock = *options_.cpu_clock;
  std::int64_t begin = cpu_clock.NowNanos();
  mutex_.Lock();
  while (!ending_) {
    std::optional<Queue::Popped> next = queue_.Pop(Now());
    if (queue_.NextAt() != INT64_MAX) alarm_.SetFor(queue_.NextAt());
    if (!next.has_value()) {
      ++asleep_;
      task_or_end_.Wait(&mutex_);
      --asleep_;
      if (waking_ > 0) --waking_;
      continue;
    }
    const bool more = queue_.HasNext() && WantsWorkerLocked();
    mutex_.Unlock();
    if (more) task_or_end_.NotifyOne();
    next->item(worker);
    next->item = nullptr;  // frees what it holds without the lock
    const std::int64_t end = cpu_clock.NowNanos();
    const std::int64_t added =
        std::exchange(added_nanos_[static_cast<std::size_t>(worker)], 0);
    mutex_.Lock();
    queue_.Complete(next->id, LoadOf(end - begin + added), Now());
    begin = end;
  }
  mutex_.Unlock();
}

}  // namespace forebay::executor
