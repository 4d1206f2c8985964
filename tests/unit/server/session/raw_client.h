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

// A client that speaks the protocol by hand. Waits for answers as long as it
// takes: the test's own limit ends a hang.
class RawClient {
 public:
  // Not connected yet: the process that connects it is its peer.
  RawClient();
  // Connected, and greeted.
  explicit RawClient(const std::string& path);

  void Connect(const std::string& path);
  // `pipe`: what tells when nothing is mapped any more; -1: none.
  void Greet(int pipe = -1);
  void SendGreeting(int pipe = -1);  // without waiting for the answer
  // As a hang-up looks to the other side; for all processes that share the
  // connection.
  void HangUp();

  // Asks without waiting for the answer.
  void Send(proto::ClientMessage message, absl::Span<const int> fds = {});
  void SendOpen(const std::string& folder);  // small batches of its images
  void SendStart(std::uint64_t loader);
  void SendGetStats(std::uint64_t loader);

  // The next answer; nullopt: the daemon has hung up.
  std::optional<proto::DaemonMessage> Receive();
  // The descriptors that came with the last answer.
  const std::vector<base::Fd>& fds() const { return fds_; }

  // Asks and waits; an empty message when the daemon has hung up.
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
