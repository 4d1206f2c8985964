#ifndef FOREBAY_SERVER_WORKER_WORKER_H_
#define FOREBAY_SERVER_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/worker/memory_limiter.h"
#include "server/worker/stall_policy.h"
#include "server/worker/task_socket.h"
#include "server/worker/worker_pool.h"

namespace forebay::worker {

// A process that makes samples by the user's code.
//
// Thread-safe except for `socket`, which belongs to the caller that has taken
// the worker. Owns the socket, and shares the mappings. Never blocks. No
// errors.
class Worker {
 public:
  // `number` is the worker's number in its worker pool. `generation` is the
  // WorkerSet's generation of slots at the time of the fork. `mapped` is the
  // memory that the process can write.
  Worker(TaskSocket task_socket, std::uint32_t number, std::uint64_t generation,
         Mappings mapped, std::shared_ptr<const LimitedWorker> limited)
      : socket(std::move(task_socket)),
        number_(number),
        generation_(generation),
        mapped_(std::move(mapped)),
        limited_(std::move(limited)) {}

  // Returns the worker's number among the workers of its worker pool.
  std::uint32_t number() const { return number_; }
  // Returns the generation of the slots that the worker can write.
  std::uint64_t generation() const { return generation_; }
  // Returns the process; null if it is not visible from here.
  Process* process() const {
    return limited_ == nullptr ? nullptr : &limited_->process();
  }
  // Returns the measurements for which the worker was ended; nullopt if it was
  // not ended for its memory.
  std::optional<Overrun> overrun() const {
    return limited_ == nullptr ? std::nullopt : limited_->overrun();
  }
  // Returns why the worker's task is to go to another worker; nullopt if the
  // worker keeps its task.
  std::optional<Stall> stall() const {
    const int stall = stall_;
    return stall == kNoStall ? std::nullopt
                             : std::optional(static_cast<Stall>(stall));
  }

  // Whether the process has ended, or has sent a message without a task.
  bool HasLeft() const;

  // Notes that the worker gets a task. `has_retried` is that of BusyWorker.
  void Begin(std::int64_t now_nanos, bool has_retried) {
    has_retried_ = has_retried;
    asked_at_nanos_ = now_nanos;
  }

  TaskSocket socket;

 private:
  friend class WorkerSet;

  // Returns the state of the process; nullopt if it has no task, or is not
  // visible. One thread at a time calls this.
  std::optional<BusyWorker> Look(std::int64_t now_nanos);

  // Kills the process, so that another worker may do its task. Returns false if
  // the system does not allow it.
  bool Kill(Stall stall);

  const std::uint32_t number_;
  const std::uint64_t generation_;
  const Mappings mapped_;
  const std::shared_ptr<const LimitedWorker> limited_;
  static constexpr std::int64_t kNoTask = INT64_MIN;
  static constexpr int kNoStall = -1;
  // The time at which the worker got its task; kNoTask if it has none.
  std::atomic<std::int64_t> asked_at_nanos_ = kNoTask;
  std::atomic<bool> has_retried_ = false;
  // A Stall, or kNoStall.
  std::atomic<int> stall_ = kNoStall;
  // The state at the last Look, and the process's CPU time at that moment. Only
  // Look uses the two.
  BusyWorker last_look_;
  std::int64_t last_cpu_nanos_ = -1;
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_WORKER_H_
