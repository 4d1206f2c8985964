#ifndef FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/schedule/job_shares.h"
#include "server/schedule/shared_queue.h"

namespace forebay::executor {

struct ThreadPoolExecutorOptions {
  // The CPU time that all tasks together may take, in CPUs: positive.
  double max_cpus = std::numeric_limits<double>::infinity();
  const base::Clock* clock = base::Clock::Monotonic();
  // Tells the CPU time of the calling thread.
  const base::Clock* cpu_clock = base::Clock::ThreadCpu();
};

// Runs tasks on a fixed number of threads, named forebay-cpu-N, from one fair
// queue. A task is charged the CPU time that its thread spent on it. One more
// thread, forebay-cpu-cap, wakes a worker when a task that a cap held up may
// run. Threads, ownership, blocking and errors as Executor says; a task may
// call anything here but the destructor.
class ThreadPoolExecutor final : public Executor, public schedule::JobShares {
 public:
  // `workers` is at least 1.
  explicit ThreadPoolExecutor(int workers,
                              const ThreadPoolExecutorOptions& options = {});
  ~ThreadPoolExecutor() override;

  // Waits for the tasks that run, and drops those that wait and all later ones.
  // For an owner that must end tasks before the objects that they use, while
  // those objects may still submit. Called by one thread at a time.
  void Stop();

  int workers() const override { return workers_; }
  void SubmitFor(absl::Span<const schedule::Flow> flows, const Demand& demand,
                 Task task) override;
  void AddCpu(int worker, std::int64_t nanos) override {
    added_nanos_[static_cast<std::size_t>(worker)] += nanos;
  }
  void SetWeight(schedule::Flow flow, double weight) override;
  void SetCap(schedule::Flow flow, double cpus) override;
  void Forget(schedule::Flow flow) override;

  // Returns the number of tasks that wait for a worker.
  std::size_t queued() const;
  // Returns the number of workers that run a task.
  int busy() const;

 private:
  using Queue = schedule::SharedQueue<Task>;

  void Work(int worker);
  // Returns whether to notify one more sleeping worker, and counts it as
  // waking.
  bool WantsWorkerLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes a worker if caps may hold up less than before.
  void CapsChanged();
  std::int64_t Now() const { return options_.clock->NowNanos(); }

  const int workers_;
  const ThreadPoolExecutorOptions options_;
  mutable base::Mutex mutex_;
  base::CondVar task_or_end_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  int asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  int waking_ ABSL_GUARDED_BY(mutex_) = 0;  // of those asleep
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // As AddCpu told of the running tasks: each worker has its own.
  std::vector<std::int64_t> added_nanos_;
  std::vector<std::thread> threads_;
  base::Alarm alarm_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
