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
#include "client/wire/session_codec.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// An answer and the descriptors that came with it.
struct Reply {
  Answer answer;
  std::vector<proto::Fd> fds;
};

// The status that an error answer means to the caller.
Status ToStatus(const ErrorAnswer& error);

// INTERNAL: the daemon's answer to a request, such as "open a loader", is
// malformed.
Status MalformedAnswer(const char* request);

// Reads the classes of an answer from the memfd that came with it.
Status ReadClassList(const proto::Fd& memory,
                     std::vector<std::string>* classes);

// One connection to the daemon: requests and their answers.
//
// Thread-safe. Owns the socket. The daemon keeps the session's resources until
// it is destroyed, so all memory that it gave must be unmapped before. Calls
// block until they are answered; a thread that waits blocks other callers.
// Errors: UNAVAILABLE if the daemon is gone or silent, INTERNAL if its answer
// is malformed; both shut the session down. Else the daemon's error.
class Session {
 public:
  static constexpr std::int64_t kAnswerNanos = 30'000'000'000;

  // Connects (see ConnectToDaemon) and says hello.
  static Status Open(const std::string& runtime_dir, const std::string& job_key,
                     const std::string& job_name, double weight,
                     std::unique_ptr<Session>* out);

  explicit Session(proto::Fd socket) : socket_(std::move(socket)) {}

  std::uint64_t NextRequestId() { return ++last_request_id_; }

  // Sends `request`, which contains the id. The caller must await the answer.
  Status Send(std::uint64_t request_id, const std::string& request,
              const std::vector<int>& fds);

  // Waits for the answer to a sent request, at most `timeout_nanos`. After
  // TIMEOUT and INTERRUPTED, the caller may await the answer again. An error
  // answer becomes the status.
  Status Await(std::uint64_t request_id, std::int64_t timeout_nanos,
               Reply* reply);

  // Sends and awaits; signals do not interrupt it. A daemon that is silent for
  // `timeout_nanos` counts as gone.
  Status Call(std::uint64_t request_id, const std::string& request,
              Reply* reply, const std::vector<int>& fds = {},
              std::int64_t timeout_nanos = kAnswerNanos);

  // Whether the daemon has hung up. Never blocks, not even for other calls.
  bool IsLost() const;

  // Hangs up; calls fail from now on. Never blocks.
  void Shutdown();

  // In a forked child: closes the inherited descriptors, which tells the daemon
  // nothing.
  void Abandon() {
    socket_.Close();
    lifeline_.Close();
  }

 private:
  // Receives one message and stores it by its request.
  Status ReceiveLocked(std::int64_t timeout_nanos);
  Status FailLocked(Status status);

  std::mutex mutex_;
  proto::Fd socket_;
  // The end of a pipe whose other end the daemon watches. Its closing, also by
  // exec, tells that this process has nothing of the session mapped any more.
  proto::Fd lifeline_;
  std::atomic<std::uint64_t> last_request_id_{0};
  std::set<std::uint64_t> unanswered_;  // guarded by mutex_
  std::map<std::uint64_t, Reply>
      replies_;  // guarded by mutex_; not awaited yet
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_SESSION_H_
