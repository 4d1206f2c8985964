#ifndef FOREBAY_TESTS_UNIT_SERVER_SESSION_RAW_CLIENT_H_
#define FOREBAY_TESTS_UNIT_SERVER_SESSION_RAW_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"

namespace forebay::session {

// A client that speaks the protocol by hand. It waits for answers as long as
// they take: the test's own limit ends a hang.
class RawClient {
 public:
  // Makes a client that is not connected yet: the process that connects it is
  // its peer.
  RawClient();
  // Connects to the server at `path`, and greets.
  explicit RawClient(const std::string& path);

  void Connect(const std::string& path);
  // Greets. The descriptor `pipe` tells when the client has nothing mapped any
  // more; -1 means that it has none.
  void Greet(int pipe = -1);
  void SendGreeting(int pipe = -1);  // does not wait for the answer
  // Hangs up as the other side sees it, for all processes that share the
  // connection.
  void HangUp();

  // Sends a request without waiting for the answer.
  void Send(proto::ClientMessage message, absl::Span<const int> fds = {});
  void SendOpen(const std::string& folder);  // in small batches of its images
  void SendStart(std::uint64_t loader);
  void SendGetStats(std::uint64_t loader);

  // Returns the next answer, or nullopt if the daemon has hung up.
  std::optional<proto::DaemonMessage> Receive();
  // Returns the descriptors that came with the last answer.
  const std::vector<base::Fd>& fds() const { return fds_; }

  // Asks and waits. Returns an empty message if the daemon has hung up.
  proto::DaemonMessage Ask(const proto::ClientMessage& message,
                           absl::Span<const int> fds = {});
  proto::LoaderOpened Open(const std::string& folder);
  proto::DaemonMessage Start(std::uint64_t loader);

 private:
  proto::DaemonMessage Answer();

  const base::Fd socket_;
  std::uint64_t last_id_ = 0;
  std::vector<base::Fd> fds_;
};

}  // namespace forebay::session

#endif  // FOREBAY_TESTS_UNIT_SERVER_SESSION_RAW_CLIENT_H_
