#ifndef FOREBAY_SERVER_SESSION_REQUEST_H_
#define FOREBAY_SERVER_SESSION_REQUEST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/session/socket.h"

namespace forebay::session {

// An answer, and the descriptors that travel with it.
struct Reply {
  std::string bytes;
  std::vector<base::Fd> fds;
  // Whether the daemon hangs up after it, for the client broke the protocol.
  bool hang_up = false;
};

// A client's request, and the descriptors that came with it.
struct Request {
  proto::ClientMessage message;
  std::vector<base::Fd> fds;

  // Takes the datagram's descriptors if it succeeds. INVALID_ARGUMENT: the
  // datagram holds no message of the protocol.
  static absl::StatusOr<Request> Parse(Datagram& datagram);
};

// Writes the status into an answer, with a text of at most `longest` bytes.
void SetError(const absl::Status& status, std::size_t longest,
              proto::Error* error);

// Returns the reply to a malformed request, or to a client that may not ask.
Reply Refuse(const absl::Status& status);

// Adds the reason to the error of a request that was interrupted.
absl::Status Explain(const absl::Status& status);

// The error of a request whose client does not wait for the answer.
absl::Status ClientHungUp();

// Error texts up to this length fit a message.
inline constexpr std::size_t kMaxError = kMaxMessage / 2;

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_H_
