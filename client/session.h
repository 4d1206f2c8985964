#ifndef FOREBAY_CLIENT_SESSION_H_
#define FOREBAY_CLIENT_SESSION_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/fd.h"
#include "client/session_codec.h"
#include "client/status.h"

namespace forebay::client {

// An answer and the descriptors that came with it.
struct Reply {
  Answer answer;
  std::vector<Fd> fds;
};

// What an error that the daemon tells of means to the caller.
Status ToStatus(const ErrorAnswer& error);

// One connection to the daemon: requests and their answers.
//
// Thread-safe. Owns the socket; the daemon keeps what the session holds until
// it is destroyed, which comes after all that it gave has been unmapped. Calls
// block until they are answered; a thread that waits keeps others waiting.
// Errors: UNAVAILABLE if the daemon is gone or silent, INTERNAL if it talks
// nonsense, both of which shut the session down; else what the daemon answered.
class Session {
 public:
  // Connects (see ConnectToDaemon) and says hello.
  static Status Open(const std::string& runtime_dir, const std::string& job_key,
                     const std::string& job_name, double weight,
                     std::unique_ptr<Session>* out);

  explicit Session(Fd socket) : socket_(std::move(socket)) {}

  std::uint64_t NextRequestId() { return ++last_request_id_; }

  // Sends `request`, which carries the id. The answer must be awaited.
  Status Send(std::uint64_t request_id, const std::string& request,
              const std::vector<int>& fds);

  // Waits for the answer to a request sent, at most `timeout_nanos`. TIMEOUT
  // and INTERRUPTED: the answer may be awaited again. An Error answered becomes
  // the status.
  Status Await(std::uint64_t request_id, std::int64_t timeout_nanos,
               Reply* reply);

  // Send and Await; signals do not interrupt it, and a daemon that is silent
  // for 30 s counts as gone.
  Status Call(std::uint64_t request_id, const std::string& request,
              Reply* reply, const std::vector<int>& fds = {});

  // Whether the daemon has hung up. Never blocks, nor waits for other calls.
  bool IsLost() const;

  // Hangs up; calls fail from now on. Never blocks.
  void Shutdown();

  // In a forked child: gives up the inherited descriptors without a word.
  void Abandon() {
    socket_.Reset();
    lifeline_.Reset();
  }

 private:
  // Takes one message and files it under its request.
  Status ReceiveLocked(std::int64_t timeout_nanos);
  Status FailLocked(Status status);

  std::mutex mutex_;
  Fd socket_;
  // The end of a pipe, whose other end the daemon watches: closed, also by
  // exec, it tells that this process has nothing of the session mapped any
  // more.
  Fd lifeline_;
  std::atomic<std::uint64_t> last_request_id_{0};
  std::set<std::uint64_t> unanswered_;      // guarded by mutex_
  std::map<std::uint64_t, Reply> replies_;  // guarded by mutex_; unfetched
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_SESSION_H_
