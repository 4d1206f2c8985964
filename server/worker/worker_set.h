#ifndef FOREBAY_SERVER_WORKER_WORKER_SET_H_
#define FOREBAY_SERVER_WORKER_WORKER_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/memory_limiter.h"
#include "server/worker/memory_watch.h"
#include "server/worker/stall_policy.h"
#include "server/worker/take_queue.h"
#include "server/worker/task_socket.h"
#include "server/worker/worker.h"
#include "server/worker/worker_pool.h"

namespace forebay::worker {

// A claim on memory that workers can write. When the claim is destroyed, the
// memory is taken from the workers.
using SharedSlot = std::shared_ptr<const void>;

// The workers of one stream, and the worker pool that forks them. There are as
// many workers as there is work for, up to a limit. A worker can write the
// slots that the worker pool had mapped when it forked the worker. If slots
// were added or removed since then, another worker takes its place.
//
// A worker pool or a worker may be stopped for hours, or hang. A task that
// needs one of them waits as a callback, and holds no thread and no lock.
//
// Thread-safe. Owns the sockets. The processes belong to the user's client, and
// end when their sockets are closed. The waiter, the clock and the memory watch
// outlive the set. Never blocks. Callbacks run on the waiter's thread, or on
// the thread of a call of GiveBack or Look. Errors: UNAVAILABLE if the worker
// pool is gone for good; FAILED_PRECONDITION if there is no worker pool;
// RESOURCE_EXHAUSTED if the worker pool cannot do what was asked.
class WorkerSet : public std::enable_shared_from_this<WorkerSet> {
 public:
  struct Deps {
    AnswerWaiter* waiter = nullptr;
    const base::Clock* clock = nullptr;
    // The limiter of workers' memory; null if their memory has no limit.
    MemoryWatch* memory = nullptr;
    // Whether several tasks make one batch. The batch is then complete when the
    // last of these tasks is done.
    bool makes_parts = false;
  };
  using Shared = std::function<void(absl::StatusOr<SharedSlot> slot)>;
  using OnWorker = worker::OnWorker;

  // `offsets` are the offsets in a slot, in bytes, of the fields that workers
  // write. `name` is the dataset's name, for logs.
  static std::shared_ptr<WorkerSet> Create(std::vector<std::uint64_t> offsets,
                                           std::string name, const Deps& deps);
  ~WorkerSet() { End(); }

  // Returns the socket for a new worker pool, which is to fork at most `most`
  // workers. `owner` names the job that starts it, for messages.
  // FAILED_PRECONDITION: there is a worker pool already; the message names its
  // owner.
  absl::StatusOr<base::Fd> Start(std::uint32_t most, const std::string& owner);
  // Returns the most workers at once; 0 if no worker pool was started. The
  // number is lower than Start's while memory does not suffice for more
  // (MemoryGroup::most).
  std::uint32_t most() const;
  // Returns an error if there is no worker pool, or it is gone for good.
  absl::Status CheckPool() const;

  // Memory that workers are to write: a slot, or staging memory.
  struct Region {
    // A memfd that is not sealed against writing yet.
    int fd = -1;
    // The daemon's mapping of the memfd, by which SlotAt finds the memory.
    const std::uint8_t* data = nullptr;
    std::uint64_t bytes = 0;
    // An owner of the memory, which is released once no process has the memory
    // mapped or may still map it.
    std::shared_ptr<const void> owner;
  };
  // Asks the worker pool to map the memory, then calls `done` with a claim.
  // Workers may write the memory while that claim lives. `done` keeps the
  // descriptor open and the memory alive.
  void Share(Region region, Shared done);
  // Returns the number by which tasks name the memory at `data`; nullopt if it
  // is not shared.
  std::optional<std::uint32_t> SlotAt(const std::uint8_t* data) const;

  // Takes an idle worker: the worker with `number`, which must not be taken, or
  // any worker. Returns null if no such worker is idle. `later` is then called
  // once: with a worker that was forked or given back, or with an error. The
  // caller takes no more than most() workers at once.
  absl::StatusOr<WorkerPtr> Take(std::optional<std::uint32_t> number,
                                 OnWorker later);
  // Gives a worker back. `alive` says whether the worker can do another task;
  // if not, its process is gone.
  void GiveBack(const WorkerPtr& worker, bool alive);

  // The state of the stream that Look needs.
  struct Need {
    // Whether a trainer that runs waits for a batch.
    bool is_awaited = false;
    // Whether another worker may do a task.
    bool may_retry = true;
    // The average time of a task, in nanoseconds.
    std::int64_t task_nanos = 0;
  };
  // Kills workers that have not answered for long and whose tasks should go to
  // other workers (stall_policy.h). If any worker has had a task for long, asks
  // the worker pool for an answer (WorkerPool::Ping). If forks take long, gives
  // idle workers to the tasks that wait for them. Called every second or so; a
  // call within half a second of the last one does nothing.
  void Look(const Need& need);
  // Returns for how many nanoseconds the worker pool has let an order wait
  // without working on it, as far as Look has seen (WorkerPool::SilentNanos).
  std::int64_t SilentNanos() const;

  // Whether the set has ended: its worker pool is gone for good, or End was
  // called.
  bool ended() const;
  // Whether the worker pool failed to map memory or to fork when it was last
  // asked to (pool_lack.h).
  bool pool_lacks() const {
    base::MutexLock lock(&mutex_);
    return pool_ != nullptr && pool_->lacks();
  }

  // Ends the worker pool and all workers, even those that are taken, for good.
  // Tasks that wait get their errors later, on the waiter's thread.
  void End();

 private:
  using Calls = TakeQueue::Calls;

  WorkerSet(std::vector<std::uint64_t> offsets, std::string name,
            const Deps& deps);

  // Records that the worker pool has mapped the memory.
  void OnMapped(const std::uint8_t* data, std::uint32_t slot,
                const std::shared_ptr<Mapping>& mapping);
  // Records that the memory's claim is gone, and asks the worker pool to unmap
  // the memory.
  void Unmap(const std::uint8_t* data);
  // Sends the order to fork the worker with that number.
  absl::Status ForkLocked(std::uint32_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the forked worker to a waiting task, or makes it idle. If the fork
  // failed, gives the error to a waiting task.
  void OnForked(std::uint32_t number, TaskSocket socket,
                absl::StatusOr<WorkerPool::Done> done);
  // Registers a forked worker with the memory watch. Returns null if there is
  // no limit, or the worker is not visible.
  std::shared_ptr<const LimitedWorker> Limit(TaskAnswer forked) const;
  // Dismisses idle workers that cannot write all slots, that have removed slots
  // mapped, or that were ended for their memory.
  void DismissOutdatedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the idle worker with `number` or, without a number, the worker that
  // has been idle longest. Dismisses the idle workers for which HasLeft is
  // true. Returns null if there is none.
  WorkerPtr TakeIdleLocked(std::optional<std::uint32_t> number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether forks for all waiting tasks are on their way and will come soon. If
  // so, idle workers stay idle: otherwise one quick worker would do the tasks
  // for which several are being forked. False if several tasks make one batch,
  // because the trainer would then wait for all forks.
  bool AwaitsForksLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // If forks take long, gives idle workers to the tasks that wait for them.
  void GiveIdleLocked(Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives a worker to the first task that waits for it, or makes it idle.
  void GiveLocked(WorkerPtr worker, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Orders forks for waiting tasks after a worker is gone. If that fails, the
  // tasks get the error.
  void ReplaceLocked(Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls the callbacks. The caller does not hold the mutex.
  static void Call(Calls* calls);
  void LookLocked(const Need& need, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Orders a fork for each waiting task for which no fork is on its way.
  absl::Status ForkForWaitingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the lowest number that no worker has.
  std::uint32_t FreeNumberLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Kills the workers whose tasks should go to other workers. Returns whether
  // any worker has had a task for long.
  bool LookAtWorkersLocked(const Need& need, const StallContext& context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Log(const Worker& worker, Stall stall) const;

  const std::vector<std::uint64_t> offsets_;
  const Deps deps_;
  const std::shared_ptr<MemoryGroup> group_;
  mutable base::Mutex mutex_;
  std::uint32_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<WorkerPool> pool_ ABSL_GUARDED_BY(mutex_);
  // The message with which another worker pool is refused.
  std::string refusal_ ABSL_GUARDED_BY(mutex_) = "the stream has ended";
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // The number of times that slots came or went, plus 1. A worker with an older
  // generation is outdated.
  std::uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 1;
  // The number of the slot that was shared last.
  std::uint32_t last_slot_ ABSL_GUARDED_BY(mutex_) = 0;
  // Memory that workers can write.
  struct Slot {
    std::uint32_t number = 0;
    std::shared_ptr<Mapping> mapping;
  };
  std::map<const std::uint8_t*, Slot> slots_ ABSL_GUARDED_BY(mutex_);
  // The numbers of all workers: those that exist, and those that are being
  // forked.
  std::set<std::uint32_t> numbers_ ABSL_GUARDED_BY(mutex_);
  // The numbers of workers that the worker pool was asked to fork.
  std::set<std::uint32_t> forking_ ABSL_GUARDED_BY(mutex_);
  // Idle workers; the one that has been idle longest comes first.
  std::vector<WorkerPtr> idle_ ABSL_GUARDED_BY(mutex_);
  TakeQueue waiting_ ABSL_GUARDED_BY(mutex_);
  // The workers that callers have. The pointers are weak, because a caller that
  // ends may drop a worker without giving it back.
  std::map<Worker*, std::weak_ptr<Worker>> in_use_ ABSL_GUARDED_BY(mutex_);
  // The time at which any worker last answered; INT64_MIN if none has.
  std::int64_t answered_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  // The time at which Look last did its work.
  std::optional<std::int64_t> looked_at_nanos_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_WORKER_SET_H_
