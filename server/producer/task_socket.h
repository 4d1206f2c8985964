#ifndef FOREBAY_SERVER_PRODUCER_TASK_SOCKET_H_
#define FOREBAY_SERVER_PRODUCER_TASK_SOCKET_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/producer_socket.h"
#include "server/base/fd.h"
#include "server/base/process.h"

namespace forebay::producer {

// A sample that could not be made, and why.
struct Failure {
  std::uint32_t index = 0;  // among the task's samples
  std::string text;
};

struct Answer {
  std::uint64_t cpu_nanos = 0;
  std::vector<Failure> failures;
  base::Fd fd = {};  // that came with it, if any
  pid_t sender = 0;  // as the daemon sees it; 0: not to be seen
};

// The daemon's end of the socket of one process that the user's client started
// (proto/producer_socket.h).
//
// One thread at a time asks, and one awaits; End and Dismiss: any thread. Owns
// the socket. Ask does not block; Await does, for as long as it is told.
// Errors: UNAVAILABLE: the process is gone; INVALID_ARGUMENT: its answer is
// none.
class TaskSocket {
 public:
  struct Pair;
  // Makes a socket, and the end for the process.
  static absl::StatusOr<Pair> Create();

  TaskSocket(TaskSocket&&) = default;
  TaskSocket& operator=(TaskSocket&&) = default;

  // Sends a task, what stands behind it, and a descriptor unless that is -1. An
  // error ends the process: its next answer would be that to another task.
  absl::Status Ask(const proto::ProducerTask& task,
                   absl::Span<const std::uint8_t> behind, int fd);
  // Waits for the answer. DEADLINE_EXCEEDED: it has not come yet.
  absl::StatusOr<Answer> Await(int milliseconds);
  // Ends the process, which finds its socket closed.
  void End();
  // Ends the process likewise, but its own end of the socket stays open: Await
  // then tells when it is gone.
  void Dismiss();

  // Whether the process may have begun the last task. False if that could not
  // be sent, or the process ended before it took the task.
  bool may_have_begun() const { return was_sent_ && !left_unread_; }
  // Whether the process has said something, or is gone.
  bool IsReadable() const { return PollFor(0); }

  int fd() const { return socket_.get(); }
  // The CPU time that the process has spent so far. Returns -1 if it has not
  // answered yet, or is not to be seen from here.
  std::int64_t CpuNanos() const { return base::ProcessCpuNanos(pid_); }
  // Whether its main thread computes, or would if it had a core.
  bool IsRunnable() const { return base::IsProcessRunnable(pid_); }

 private:
  explicit TaskSocket(base::Fd socket) : socket_(std::move(socket)) {}

  bool PollFor(int milliseconds) const;

  base::Fd socket_;
  pid_t pid_ = 0;             // as the daemon sees it; 0: not known
  bool was_sent_ = false;     // the last task; set by Ask
  bool left_unread_ = false;  // that task, by a process that is gone; by Await
};

struct TaskSocket::Pair {
  TaskSocket ours;
  base::Fd theirs;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_TASK_SOCKET_H_
