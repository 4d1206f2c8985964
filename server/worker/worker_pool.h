#ifndef FOREBAY_SERVER_WORKER_WORKER_POOL_H_
#define FOREBAY_SERVER_WORKER_WORKER_POOL_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/worker_socket.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/task_socket.h"
#include "server/worker/worker_process.h"

namespace forebay::worker {

// Memory that processes have mapped for writing. For each process that may have
// the memory mapped, its WorkerPool or Worker shares the ownership of the
// Mapping. When the Mapping is destroyed, no process can write the memory any
// more.
struct Mapping {
  // Keeps the memory alive as long as the Mapping exists.
  const std::shared_ptr<const void> owner;
};
// The mappings of one process, by the slot numbers that tasks use.
using Mappings = std::map<std::uint32_t, std::shared_ptr<Mapping>>;

// The process that maps slots and forks workers, and the orders that this
// process must still carry out. One order is in flight at a time; the others
// wait here, in the sequence of Send. A worker pool may be stopped for hours.
// This is not an error, and only these orders wait for the pool.
//
// Thread-safe. Owns the socket; the waiter and the clock outlive it. Never
// blocks. Callbacks run on the waiter's thread, in the sequence of Send.
// Errors, passed to callbacks: UNAVAILABLE if the worker pool is gone for good;
// RESOURCE_EXHAUSTED if the worker pool cannot carry the order out.
class WorkerPool : public std::enable_shared_from_this<WorkerPool> {
 public:
  // The result of an order.
  struct Done {
    TaskAnswer answer;
    // If the worker pool has forked a worker, the mappings that the worker has
    // inherited. Empty for other orders.
    Mappings mapped;
  };
  using OnDone = std::function<void(absl::StatusOr<Done> done)>;
  // A task for the worker pool.
  struct Order {
    proto::WorkerTask task = {};
    // The bytes that follow the task in its message.
    std::vector<std::uint8_t> behind = {};
    // The descriptor that is sent with the task: either `own_fd`, which the
    // order owns, or `fd`, which `done` keeps open; -1 for none.
    base::Fd own_fd = {};
    int fd = -1;
    // The mapping that a kMapSlot makes; null for other commands.
    std::shared_ptr<Mapping> mapping = nullptr;
    // Called with the result; may be null.
    OnDone done;
  };

  // `gone` is called once, on the waiter's thread, when the process is gone or
  // has broken the protocol, unless End was called before.
  static std::shared_ptr<WorkerPool> Create(TaskSocket socket,
                                            AnswerWaiter* waiter,
                                            const base::Clock* clock,
                                            std::function<void()> gone);

  void Send(Order order) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends an order that only asks for an answer, unless an order is in flight.
  void Ping() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the process to end, and kills it if it has not ended within
  // kEndPatienceNanos. Orders that it has not answered fail. The memory counts
  // as mapped until the process is gone.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Notes whether the process has worked since the last Look. Call it now and
  // then.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the nanoseconds that the order in flight has waited since the
  // process was last seen to work; 0 if there is no order. If the process is
  // not visible, the first two seconds do not count.
  std::int64_t SilentNanos() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the last order to map memory or to fork failed (pool_lack.h).
  bool lacks() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when the process last answered; INT64_MIN if it has not.
  std::int64_t answered_at_nanos() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  WorkerPool(TaskSocket socket, AnswerWaiter* waiter, const base::Clock* clock,
             std::function<void()> gone)
      : waiter_(waiter),
        clock_(clock),
        gone_callback_(std::move(gone)),
        socket_(std::move(socket)) {}

  // Handles a readable socket. Returns whether the process is gone.
  bool OnReadable() ABSL_LOCKS_EXCLUDED(mutex_);
  // Completes the order in flight, and sends the next one.
  void OnAnswer(TaskAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Fails all orders of a process that is gone or has broken the protocol.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends the first waiting order, unless one is in flight.
  void SendNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Dismisses the process. Returns the orders that are to fail.
  std::deque<Order> EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Kills the process if it is visible. A stopped process does not notice that
  // it should end.
  void Kill() ABSL_LOCKS_EXCLUDED(mutex_);

  AnswerWaiter* const waiter_;
  const base::Clock* const clock_;
  const std::function<void()> gone_callback_;
  TaskSocket socket_;
  mutable base::Mutex mutex_;
  std::deque<Order> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Order> in_flight_ ABSL_GUARDED_BY(mutex_);
  // The time at which the order in flight was sent, or the process was last
  // seen to work on it.
  std::int64_t worked_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // The process; 0 if it is not visible or has not answered.
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;
  // Null until the process has sent its pidfd.
  std::unique_ptr<Process> process_ ABSL_GUARDED_BY(mutex_);
  // The process's CPU time at the last Look; -1 if unknown.
  std::int64_t cpu_nanos_ ABSL_GUARDED_BY(mutex_) = -1;
  std::int64_t answered_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  // The memory that the process may have mapped, by slot number.
  Mappings mapped_ ABSL_GUARDED_BY(mutex_);
  bool lacks_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Returns UNAVAILABLE: the worker pool is gone.
absl::Status PoolGone();

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_WORKER_POOL_H_
