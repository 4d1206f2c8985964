#ifndef FOREBAY_CLIENT_WIRE_SESSION_H_
#define FOREBAY_CLIENT_WIRE_SESSION_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/session.message.h"

namespace forebay::client::wire {

// A request of any kind, without its id.
using Request = decltype(message::ClientMessage::kind);

// An answer from the daemon, and the descriptors that came with it.
struct Reply {
  message::DaemonMessage answer;
  std::vector<proto::Fd> fds;
};

// Returns an error answer as the status that the caller gets.
Status ToStatus(const message::Error& error);

// Returns INTERNAL: the daemon's answer to a request, such as "open a loader",
// is malformed.
Status MalformedAnswer(const char* request);

// Reads a list of classes from `memory`, the memfd that came with an answer.
// INTERNAL if the memfd is larger than 256 MiB or malformed.
Status ReadClassList(const proto::Fd& memory, message::ClassList* classes);

// A connection to the daemon: requests and their answers. Each request has an
// id, which the answer repeats. A caller may therefore await the answer long
// after it has sent the request.
//
// Thread-safe. Owns the socket. All memory that came from the daemon must be
// unmapped before the session is destroyed, because the daemon then frees that
// memory. Calls block until the daemon answers. A thread that waits blocks
// other callers. Errors: UNAVAILABLE if the daemon is gone or silent, INTERNAL
// if its answer is malformed; after either error, the session is shut down. All
// other errors come from the daemon's answers.
class Session {
 public:
  // The nanoseconds after which a silent daemon counts as gone. They are enough
  // for a daemon that swaps, or is stopped for a moment.
  static constexpr std::int64_t kAnswerNanos = 30'000'000'000;

  // Connects (see ConnectToDaemon), then says hello. Blocks for at most 10 s in
  // each step. FAILED_PRECONDITION if the daemon speaks another protocol.
  static Status Open(const std::string& runtime_dir, const std::string& job_key,
                     const std::string& job_name, double weight,
                     std::unique_ptr<Session>* out);

  explicit Session(proto::Fd socket) : socket_(std::move(socket)) {}

  // Sends `request` and the descriptors `fds`, which stay the caller's. The
  // caller must await the answer. Sets `*request_id` also if sending fails.
  Status Send(Request request, const std::vector<int>& fds,
              std::uint64_t* request_id);

  // Waits for the answer to a sent request, at most `timeout_nanos`. After
  // TIMEOUT and INTERRUPTED, the caller may await the answer again. An error
  // answer becomes the status.
  Status Await(std::uint64_t request_id, std::int64_t timeout_nanos,
               Reply* reply);

  // Sends a request and awaits its answer, even if signals arrive meanwhile. A
  // daemon that is silent for `timeout_nanos` nanoseconds counts as gone.
  Status Call(Request request, Reply* reply, const std::vector<int>& fds = {},
              std::int64_t timeout_nanos = kAnswerNanos);

  // Whether the daemon has hung up. Never blocks, not even while another call
  // waits.
  bool IsLost() const;

  // Hangs up; calls fail from now on. Never blocks.
  void Shutdown();

  // Closes the descriptors that a forked child has inherited. The parent still
  // has its own descriptors, so the daemon notices nothing.
  void Abandon() {
    socket_.Close();
    lifeline_.Close();
  }

 private:
  // Receives a message and stores it by the id of its request.
  Status ReceiveLocked(std::int64_t timeout_nanos);
  // Hangs up, because later answers cannot be trusted, and returns `status`.
  Status FailLocked(Status status);

  std::mutex mutex_;
  proto::Fd socket_;
  // An end of a pipe; the daemon watches the other end. When this end is
  // closed, for example by exec, the daemon knows that this process no longer
  // has any of the session's memory mapped.
  proto::Fd lifeline_;
  std::atomic<std::uint64_t> last_request_id_{0};
  // The ids of requests without an answer so far. Guarded by mutex_.
  std::set<std::uint64_t> unanswered_;
  // Answers that nobody has awaited yet, by their ids. Guarded by mutex_.
  std::map<std::uint64_t, Reply> replies_;
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_SESSION_H_
