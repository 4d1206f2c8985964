#ifndef FOREBAY_SERVER_WORKER_TASK_SOCKET_H_
#define FOREBAY_SERVER_WORKER_TASK_SOCKET_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/worker_socket.h"
#include "server/base/fd.h"
#include "server/base/process.h"

namespace forebay::worker {

// A sample that a worker could not make.
struct TaskFailure {
  // The index of the sample in the task.
  std::uint32_t index = 0;
  // The reason, as the user's code told it.
  std::string text;
};

// The answer of a process to one task. Its numbers are within the protocol's
// bounds, but are otherwise unchecked.
struct TaskAnswer {
  // The CPU time that the process spent on the task.
  std::uint64_t cpu_nanos = 0;
  std::vector<TaskFailure> failures;
  // A descriptor that came with the answer, if any.
  base::Fd fd = {};
  // The id, in the daemon's PID namespace, of the process that sent the answer;
  // 0 if the process is in another namespace.
  pid_t sender = 0;
};

// The daemon's end of the socket of one process that the user's client started
// (proto/worker_socket.h).
//
// One thread at a time calls Ask, and one at a time Await; any thread may call
// End and Dismiss. Owns the socket. Ask does not block; Await blocks for as
// long as the caller says. Errors: UNAVAILABLE if the process is gone;
// INVALID_ARGUMENT if its answer does not follow the protocol.
class TaskSocket {
 public:
  struct Pair;
  // Creates a pair of sockets: the daemon's end, and the process's.
  static absl::StatusOr<Pair> Create();

  TaskSocket(TaskSocket&&) = default;
  TaskSocket& operator=(TaskSocket&&) = default;

  // Sends a task, the bytes that follow it in the message, and the descriptor
  // `fd` unless it is -1. If sending fails, ends the process, because its next
  // answer could not be told from the answer to another task.
  absl::Status Ask(const proto::WorkerTask& task,
                   absl::Span<const std::uint8_t> behind, int fd);
  // Waits for the answer for at most `milliseconds`. DEADLINE_EXCEEDED: the
  // answer has not come yet.
  absl::StatusOr<TaskAnswer> Await(int milliseconds);
  // Closes the connection in both directions. The process finds its socket
  // closed, and ends.
  void End();
  // Closes only the direction to the process, which then ends. Await still
  // tells when the process is gone.
  void Dismiss();

  // Whether the process may have begun the last task. False if the task could
  // not be sent, or the process ended before it took the task.
  bool may_have_begun() const { return was_sent_ && !left_unread_; }
  // Whether the process has sent a message, or is gone.
  bool IsReadable() const { return PollFor(0); }

  int fd() const { return socket_.get(); }
  // Returns the CPU time that the process has spent so far, in nanoseconds.
  // Returns -1 if the process has not answered yet, or is not visible.
  std::int64_t CpuNanos() const { return base::ProcessCpuNanos(pid_); }
  // Whether the process's main thread runs, or is ready to run.
  bool IsRunnable() const { return base::IsProcessRunnable(pid_); }

 private:
  explicit TaskSocket(base::Fd socket) : socket_(std::move(socket)) {}

  bool PollFor(int milliseconds) const;

  base::Fd socket_;
  // The id of the process, in the daemon's PID namespace; 0 if not known.
  pid_t pid_ = 0;
  // Whether the last task was sent; set by Ask.
  bool was_sent_ = false;
  // Whether the process ended without having read that task; set by Await.
  bool left_unread_ = false;
};

// The two ends of a new connection.
struct TaskSocket::Pair {
  TaskSocket ours;
  base::Fd theirs;
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_TASK_SOCKET_H_
