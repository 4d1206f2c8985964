#ifndef FOREBAY_SERVER_PRODUCER_HOST_H_
#define FOREBAY_SERVER_PRODUCER_HOST_H_

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
#include "proto/producer_socket.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/process.h"
#include "server/producer/task_socket.h"

namespace forebay::producer {

// Memory that processes have mapped for writing. Each process that may have it
// mapped shares ownership, so its end means that no process has.
struct Mapping {
  // Is released then.
  const std::shared_ptr<const void> kept;
};
// The mappings of a process, by the numbers that tasks use.
using Mappings = std::map<std::uint32_t, std::shared_ptr<Mapping>>;

// The process that maps slots and forks producers, as the daemon sees it, and
// the orders that it has still to carry out. One order is in flight at a time;
// the others wait here, in order. A host may be stopped for hours: that is no
// error, and nothing but these orders waits for it.
//
// Thread-safe. Owns the socket; the waiter outlives it. Never blocks. Callbacks
// run on the waiter's thread, in the order of the orders. Errors: UNAVAILABLE:
// the host is gone, for good; RESOURCE_EXHAUSTED: it cannot do that.
class Host : public std::enable_shared_from_this<Host> {
 public:
  struct Done {
    Answer answer;
    Mappings mapped;  // by the host, when it carried the order out
  };
  using OnDone = std::function<void(absl::StatusOr<Done> done)>;
  struct Order {
    proto::ProducerTask task = {};
    std::vector<std::uint8_t> behind = {};
    // The descriptor that goes along: the order's own, or one that `done`
    // keeps open; -1 for none.
    base::Fd own_fd = {};
    int fd = -1;
    // The mapping that a kMapSlot makes; null for other commands.
    std::shared_ptr<Mapping> mapping = nullptr;
    OnDone done;
  };

  // `gone` is called once, on the waiter's thread, when the process is gone or
  // has broken the protocol, unless End was called before.
  static std::shared_ptr<Host> Create(TaskSocket socket, AnswerWaiter* waiter,
                                      const base::Clock* clock,
                                      std::function<void()> gone);

  void Send(Order order) ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks whether the process answers, unless an order is in flight.
  void Ping() ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets the process end, and kills it if it has not ended in time. Orders that
  // it has not answered fail. What it has mapped counts as mapped until it is
  // gone.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks whether the process works, to be called now and then.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  // How long the order in flight has waited while the process was not seen to
  // work; 0 without one. Of a process that cannot be seen, two seconds less.
  std::int64_t SilentNanos() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the last order to map memory or to fork failed: see host_lack.h.
  bool lacks() const ABSL_LOCKS_EXCLUDED(mutex_);
  // When the process answered last; INT64_MIN if it has not.
  std::int64_t answered_at_nanos() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Host(TaskSocket socket, AnswerWaiter* waiter, const base::Clock* clock,
       std::function<void()> gone)
      : waiter_(waiter),
        clock_(clock),
        gone_callback_(std::move(gone)),
        socket_(std::move(socket)) {}

  // Takes what the process said. Returns whether it is gone.
  bool OnReadable() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAnswer(Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the work with a process that is gone or cannot be relied on.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);
  void SendNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the work; returns the orders that are to fail.
  std::deque<Order> EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Kill() ABSL_LOCKS_EXCLUDED(mutex_);

  AnswerWaiter* const waiter_;
  const base::Clock* const clock_;
  const std::function<void()> gone_callback_;
  TaskSocket socket_;
  mutable base::Mutex mutex_;
  std::deque<Order> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Order> in_flight_ ABSL_GUARDED_BY(mutex_);
  // When it was asked, or was seen to work on that.
  std::int64_t worked_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: not to be seen
  // Null until its pidfd has come.
  std::unique_ptr<Process> process_ ABSL_GUARDED_BY(mutex_);
  std::int64_t cpu_nanos_ ABSL_GUARDED_BY(mutex_) = -1;
  std::int64_t answered_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  Mappings mapped_ ABSL_GUARDED_BY(mutex_);
  bool lacks_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// The error of all that needs a host that is gone.
absl::Status HostGone();

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_HOST_H_
