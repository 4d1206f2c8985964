#ifndef FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
#define FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/executor/cpu_clock.h"
#include "server/executor/executor.h"
#include "server/executor/short_tasks.h"
#include "server/executor/thread_priority.h"
#include "server/executor/worker_places.h"
#include "server/schedule/job_shares.h"
#include "server/schedule/shared_queue.h"

namespace forebay::executor {

// A short task that takes more CPU time than this was misjudged: others end
// soon after kLongTaskNanos by themselves.
constexpr std::int64_t kOverrunNanos = 2 * kLongTaskNanos;

struct ThreadPoolExecutorOptions {
  // The CPU time that all tasks together may take, in CPUs: positive.
  double max_cpus = std::numeric_limits<double>::infinity();
  const base::Clock* clock = base::Clock::Monotonic();
  const CpuClock* cpu_clock = CpuClock::Kernel();
  // Gives a thread, by its id, a lower priority in the kernel. Nothing can undo
  // that. Called with a lock held: it must not block.
  std::function<void(pid_t)> lower_priority = &LowerPriority;
};

// Runs tasks from one fair queue on two groups of threads: forebay-cpu-N for
// short tasks, forebay-long-N for long ones, one of each for every CPU. While
// short tasks want the CPUs, threads with long tasks have a lower priority in
// the kernel. A short task that overruns, while one of another flow waits for
// its thread, is counted among the long ones from then on; a new thread serves
// the short ones. A task is charged the CPU time that its thread spent on it.
//
// One more thread, forebay-cpu-cap, wakes a thread when a task that a cap held
// up may run, looks for short tasks that take long, and starts threads.
// Threads, ownership, blocking and errors as Executor says; a task may call
// anything here but Stop and the destructor.
class ThreadPoolExecutor final : public Executor, public schedule::JobShares {
 public:
  // `cpus` is at least 1.
  explicit ThreadPoolExecutor(int cpus,
                              const ThreadPoolExecutorOptions& options = {});
  ~ThreadPoolExecutor() override;

  // Waits for the tasks that run, and drops those that wait and all later ones.
  // For an owner that must end tasks before the objects that they use, while
  // those objects may still submit. Called by one thread at a time.
  void Stop();

  int cpus() const override { return cpus_; }
  int workers() const override { return WorkersFor(cpus_); }
  // The workers of an executor for so many CPUs.
  static constexpr int WorkersFor(int cpus) {
    return WorkerPlaces::CountFor(cpus);
  }
  void SubmitFor(absl::Span<const schedule::Flow> flows, const Demand& demand,
                 Task task) override;
  void AddCpu(int worker, std::int64_t nanos) override {
    added_nanos_[static_cast<std::size_t>(worker)] += nanos;
  }
  void SetWeight(schedule::Flow flow, double weight) override;
  void SetCap(schedule::Flow flow, double cpus) override;
  void Forget(schedule::Flow flow) override;

  // Returns the number of tasks that wait for a thread.
  std::size_t queued() const;
  // Returns the number of CPUs that tasks use, if each of them uses one: at
  // most cpus().
  int busy() const;

 private:
  struct Item {
    Task task;
    TaskKind kind;
    FlowSet flows;
  };
  using Queue = schedule::SharedQueue<Item>;
  // Chooses tasks for a thread of a kind.
  struct Chooser {
    TaskKind kind;
    bool other_has_place;  // one of the other kind may start

    schedule::Turn operator()(const Item& item) const {
      if (item.kind == kind) return schedule::Turn::kTake;
      return other_has_place ? schedule::Turn::kPass : schedule::Turn::kAwait;
    }
  };

  // A thread. Guarded by mutex_, but for `thread`.
  struct Thread {
    TaskKind kind = kShort;  // of the tasks that it takes
    int number = 0;          // in its name
    pid_t id = 0;
    bool has_low_priority = false;
    bool ended = false;
    int worker = -1;  // of the task that it runs, or -1
    FlowSet flows;    // of that task
    // The time, and the thread's CPU time, when that task began.
    std::int64_t began_nanos = 0;
    std::int64_t began_cpu_nanos = 0;
    std::thread thread;
  };
  // The threads of a kind.
  struct Group {
    int threads = 0;
    int asleep = 0;
    int waking = 0;           // of those asleep
    std::size_t waiting = 0;  // tasks of the kind in the queue
  };

  Chooser ChooserFor(TaskKind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {kind, places_.HasPlace(kind == kShort ? kLong : kShort)};
  }
  void Work(Thread* self);
  // Takes a task for the thread, whose CPU time is given.
  std::optional<Queue::Popped> TakeLocked(Thread* self, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CompleteLocked(Thread* self, Queue::Id task, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether to notify one more sleeping thread of the kind, and counts
  // it as waking. Where no thread sleeps, has short tasks watched if those of
  // several flows may wait for each other.
  bool WantsThreadLocked(TaskKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Likewise, unless the next tasks wait for those of the other kind.
  bool WantsThreadNowLocked(TaskKind kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns WantsThreadNowLocked of each kind; notifies those threads.
  using Wanted = std::array<bool, 2>;
  Wanted WantedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake(const Wanted& wanted);
  // Wakes threads if caps may hold up less than before.
  void CapsChangedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Gives threads with long tasks a low priority if short tasks want their
  // CPUs.
  void LowerPrioritiesLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lower(Thread* thread) const;
  // Whether a thread of normal priority should take this one's place: nobody
  // can give its priority back.
  bool IsSurplusLocked(const Thread& thread) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveLocked(Thread* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Has Supervise called at that time or before.
  void SuperviseByLocked(std::int64_t at_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Supervise();
  // Counts the short tasks that take long among the long ones, while others
  // wait for their threads.
  void FindLongTasksLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a short task waits that another flow wants than those given.
  bool HoldsUpOthersLocked(const FlowSet& flows, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeLongLocked(Thread* thread, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts the threads that are missing.
  void StartThreadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool StartThreadLocked(TaskKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::int64_t Now() const { return options_.clock->NowNanos(); }

  const int cpus_;
  const ThreadPoolExecutorOptions options_;
  mutable base::Mutex mutex_;
  std::array<base::CondVar, 2> task_or_end_;  // by kind
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  WorkerPlaces places_ ABSL_GUARDED_BY(mutex_);
  std::array<Group, 2> groups_ ABSL_GUARDED_BY(mutex_);  // by kind
  std::list<Thread> threads_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;  // a thread, at the last try
  // When more tasks than CPUs last ran, short ones among them.
  std::int64_t contended_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // When to look for short tasks that take long; INT64_MAX: no other flow's
  // task waits for them.
  std::int64_t look_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  ShortTasks short_tasks_ ABSL_GUARDED_BY(mutex_);
  std::int64_t supervise_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  // As AddCpu told of the running tasks: each worker has its own.
  std::vector<std::int64_t> added_nanos_;
  base::Alarm alarm_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
