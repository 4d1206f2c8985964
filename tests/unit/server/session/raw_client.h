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

// A client that speaks the protocol by hand. It waits for answers without a
// timeout, because the test's own limit ends a hang.
class RawClient {
 public:
  // Makes a client without a connection. The process that connects it later is
  // its peer.
  RawClient();
  // Connects to the server at `path`, and greets.
  explicit RawClient(const std::string& path);

  void Connect(const std::string& path);
  // Sends the greeting, and waits for the answer. The end of the descriptor
  // `pipe` tells when the client has nothing mapped any more; -1 means that
  // there is no such descriptor.
  void Greet(int pipe = -1);
  void SendGreeting(int pipe = -1);  // does not wait for the answer
  // Ends the connection for all processes that share it, so that the server
  // sees the client hang up.
  void HangUp();

  // Sends a request without waiting for the answer.
  void Send(proto::ClientMessage message, absl::Span<const int> fds = {});
  // Requests small batches of the folder's images.
  void SendOpen(const std::string& folder);
  void SendStart(std::uint64_t loader);
  void SendGetStats(std::uint64_t loader);

  // Returns the next answer, or nullopt if the daemon has hung up.
  std::optional<proto::DaemonMessage> Receive();
  // Returns the descriptors that came with the latest answer.
  const std::vector<base::Fd>& fds() const { return fds_; }

  // Sends a request, and waits. Returns an empty message if the daemon has hung
  // up.
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
