#ifndef FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/schedule/fair_queue.h"

namespace forebay::executor {

// A fixed number of threads, named forebay-cpu-N, behind one fair queue. Each
// task is charged the CPU time that its thread spent on it. Threads, ownership,
// blocking and errors as Executor says; a task may call anything here but the
// destructor.
class ThreadPoolExecutor final : public Executor {
 public:
  // `workers` is at least 1. `cpu_clock` tells the CPU time of the thread that
  // asks.
  explicit ThreadPoolExecutor(
      int workers, const base::Clock* cpu_clock = base::Clock::ThreadCpu());
  ~ThreadPoolExecutor() override;

  // Waits for the tasks that run; drops those that wait and all that come
  // later. For who must outlive what tasks refer to, and be called by it. From
  // one thread at a time.
  void Stop();

  int workers() const override { return workers_; }
  void Submit(schedule::Flow flow, std::int64_t cost_nanos, Task task) override;
  void SetWeight(schedule::Flow flow, double weight) override;
  void Forget(schedule::Flow flow) override;

  // Tasks that wait for a worker.
  std::size_t queued() const;
  // Workers that run a task.
  int busy() const;

 private:
  void Work(int worker);

  const int workers_;
  const base::Clock* const cpu_clock_;
  mutable base::Mutex mutex_;
  base::CondVar task_or_end_;
  schedule::FairQueue<Task> queue_ ABSL_GUARDED_BY(mutex_);
  int asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  int waking_ ABSL_GUARDED_BY(mutex_) = 0;  // of those asleep
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
