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
#include "server/executor/task_places.h"
#include "server/executor/thread_priority.h"
#include "server/schedule/job_shares.h"
#include "server/schedule/shared_queue.h"

namespace forebay::executor {

// A short task that has taken more CPU time than this counts as misjudged. The
// value is twice the limit of short tasks: a task that takes only a little
// longer soon ends by itself.
constexpr std::int64_t kOverrunNanos = 2 * kLongTaskNanos;

struct ThreadPoolExecutorOptions {
  // The CPU time that all tasks together may take, in CPUs (seconds per
  // second). Positive.
  double max_cpus = std::numeric_limits<double>::infinity();
  const base::Clock* clock = base::Clock::Monotonic();
  const CpuClock* cpu_clock = CpuClock::Kernel();
  // Lowers the kernel's priority of a thread, given by its id, for good. The
  // function is called with the executor's lock held, so it must not block.
  std::function<void(pid_t)> lower_priority = &LowerPriority;
};

// Runs tasks from one fair queue on two groups of threads: forebay-cpu-N for
// short tasks and forebay-long-N for long ones. Each group has a thread for
// every CPU. While short tasks want the CPUs, threads with long tasks have a
// lower priority in the kernel. If a short task overruns while a task of
// another flow waits, the short task counts as a long one from then on. A new
// thread then serves the short tasks. A task is charged the CPU time that its
// thread spent on it.
//
// Another thread, forebay-cpu-cap, supervises. The supervisor wakes a thread
// when a task that a cap held up may run, looks for short tasks that overrun,
// and starts threads. The contract is that of Executor. A task may call any
// function but Stop and the destructor.
class ThreadPoolExecutor final : public Executor, public schedule::JobShares {
 public:
  // `cpus` is at least 1.
  explicit ThreadPoolExecutor(int cpus,
                              const ThreadPoolExecutorOptions& options = {});
  ~ThreadPoolExecutor() override;

  // Waits for the tasks that run. Drops the tasks that wait, and all tasks that
  // are submitted later. An owner calls Stop before it destroys objects that
  // the tasks use. Until then these objects may still submit tasks, which are
  // dropped. Called by one thread at a time.
  void Stop();

  int cpus() const override { return cpus_; }
  int places() const override { return PlacesFor(cpus_); }
  // Returns places() of an executor with `cpus` CPUs.
  static constexpr int PlacesFor(int cpus) {
    return TaskPlaces::CountFor(cpus);
  }
  void SubmitFor(absl::Span<const schedule::Flow> flows, const Demand& demand,
                 Task task) override;
  void AddCpu(int place, std::int64_t nanos) override {
    added_nanos_[static_cast<std::size_t>(place)] += nanos;
  }
  void SetWeight(schedule::Flow flow, double weight) override;
  void SetCap(schedule::Flow flow, double cpus) override;
  void Forget(schedule::Flow flow) override;

  // Returns the number of tasks that wait for a thread.
  std::size_t queued() const;
  // Returns the number of CPUs that running tasks use, counting one CPU for
  // each task: at most cpus().
  int busy() const;

 private:
  // A task in the queue.
  struct Item {
    Task task;
    TaskKind kind;
    FlowSet flows;
  };
  using Queue = schedule::SharedQueue<Item>;
  // Decides for a thread of kind `kind` which queued item it takes.
  struct Chooser {
    TaskKind kind;
    // Whether a task of the other kind may start. If not, such a task keeps its
    // turn in the queue until a running task of its kind ends.
    bool other_has_place;

    schedule::Turn operator()(const Item& item) const {
      if (item.kind == kind) return schedule::Turn::kTake;
      return other_has_place ? schedule::Turn::kPass : schedule::Turn::kAwait;
    }
  };

  // A thread of the pool. mutex_ guards all fields but `thread`.
  struct Thread {
    // The kind of task that the thread takes.
    TaskKind kind = kShort;
    // The number in the thread's name.
    int number = 0;
    // The kernel's id of the thread; 0 until the thread has begun.
    pid_t id = 0;
    // Whether the thread's priority was lowered. The priority stays low until
    // the thread ends.
    bool has_low_priority = false;
    // Whether the thread has left Work and waits to be joined.
    bool ended = false;
    // The place of the task that the thread runs; -1 if there is none.
    int place = -1;
    // The flows of the running task.
    FlowSet flows;
    // The clock's time when the running task began.
    std::int64_t began_nanos = 0;
    // The thread's CPU time when the running task began.
    std::int64_t began_cpu_nanos = 0;
    std::thread thread;
  };
  // The threads that take one kind of task.
  struct Group {
    int threads = 0;
    // Threads that wait on task_or_end_.
    int asleep = 0;
    // Sleeping threads that were notified and have not run yet.
    int waking = 0;
    // Tasks of this kind that wait in the queue.
    std::size_t waiting = 0;
  };

  Chooser ChooserFor(TaskKind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {kind, places_.HasPlace(kind == kShort ? kLong : kShort)};
  }
  // Runs tasks until the executor ends or the thread is surplus: the body of
  // each thread.
  void Work(Thread* self);
  // Pops the next task that the thread may run, and records it in `*self` and
  // in the counts. Returns nullopt if there is no such task. `cpu_nanos` is the
  // thread's CPU time now.
  std::optional<Queue::Popped> TakeLocked(Thread* self, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the end of the thread's task, which took `cpu_nanos` of CPU time.
  void CompleteLocked(Thread* self, Queue::Id task, std::int64_t cpu_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether to notify one more sleeping thread of the kind, because more of its
  // tasks wait than threads are waking. If no thread sleeps and short tasks of
  // several flows may wait for each other, schedules a look for overruns.
  bool WantsThreadLocked(TaskKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns WantsThreadLocked, but false if no task of the kind may start now
  // because of places, caps or turns. If true, counts one more thread as
  // waking.
  bool WantsThreadNowLocked(TaskKind kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether to notify a thread of each kind, indexed by TaskKind.
  using Wanted = std::array<bool, 2>;
  // Returns WantsThreadNowLocked of each kind. The caller passes the result to
  // Wake, best without the lock.
  Wanted WantedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake(const Wanted& wanted);
  // Wakes one thread for each kind of task that waits. Called when caps may let
  // more tasks through than before.
  void CapsChangedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Lowers the priority of all threads with long tasks if more tasks run than
  // there are CPUs, and some of them are short.
  void LowerPrioritiesLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lowers the priority of one thread.
  void Lower(Thread* thread) const;
  // Whether the thread should end so that a thread of normal priority takes its
  // place. The priority of this thread cannot be raised again.
  bool IsSurplusLocked(const Thread& thread) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the thread's end. The supervising thread joins that thread and
  // starts another one.
  void LeaveLocked(Thread* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Makes the supervising thread call Supervise at `at_nanos` or earlier.
  void SuperviseByLocked(std::int64_t at_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks for overruns if that is due, joins threads that ended, starts missing
  // ones, and wakes threads for tasks that caps now let through.
  void Supervise();
  // Counts short tasks that overrun among the long ones, if tasks of other
  // flows wait for their threads. Sets the time of the next look.
  void FindLongTasksLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a short task of a flow outside `flows` waits.
  bool HoldsUpOthersLocked(const FlowSet& flows, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the thread and its task as long, and lowers the thread's priority.
  void MakeLongLocked(Thread* thread, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts threads until each kind has one per CPU. If the system refuses, logs
  // a warning once and schedules another try.
  void StartThreadsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts one thread. Returns false if the system refuses.
  bool StartThreadLocked(TaskKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::int64_t Now() const { return options_.clock->NowNanos(); }

  const int cpus_;
  const ThreadPoolExecutorOptions options_;
  mutable base::Mutex mutex_;
  // Each kind's threads wait here for a task, or for the executor's end.
  std::array<base::CondVar, 2> task_or_end_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  TaskPlaces places_ ABSL_GUARDED_BY(mutex_);
  // The threads by kind.
  std::array<Group, 2> groups_ ABSL_GUARDED_BY(mutex_);
  std::list<Thread> threads_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether the system refused a thread at the last try.
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;
  // The last time when more tasks than CPUs ran, and some of them were short.
  std::int64_t contended_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // The time of the next look for short tasks that overrun; INT64_MAX if no
  // task of another flow waits for them.
  std::int64_t look_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  ShortTasks short_tasks_ ABSL_GUARDED_BY(mutex_);
  // The time that the alarm is set for.
  std::int64_t supervise_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  // The nanoseconds that AddCpu has added, by the place of the running task.
  // Only the thread of that task touches the element.
  std::vector<std::int64_t> added_nanos_;
  base::Alarm alarm_;
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_THREAD_POOL_EXECUTOR_H_
