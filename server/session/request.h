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
  // Whether the daemon hangs up after the answer, because the client broke the
  // protocol.
  bool hang_up = false;
};

// A client's request, and the descriptors that came with it.
struct Request {
  proto::ClientMessage message;
  std::vector<base::Fd> fds;

  // Parses a datagram, and takes its descriptors if that succeeds.
  // INVALID_ARGUMENT: the datagram is not a message of the protocol.
  static absl::StatusOr<Request> Parse(Datagram& datagram);
};

// Writes `status` into an answer, with a text of at most `longest` bytes.
void SetError(const absl::Status& status, std::size_t longest,
              proto::Error* error);

// Returns the reply to a malformed request, or to a client that is refused.
// The daemon hangs up after it.
Reply Refuse(const absl::Status& status);

// Returns `status`. If it is CANCELLED, adds the reason: requests are
// interrupted when the daemon shuts down.
absl::Status Explain(const absl::Status& status);

// Returns the error for a request whose client no longer waits for the answer.
absl::Status ClientHungUp();

// The most bytes of an error's text, so that a message has room for its other
// fields.
inline constexpr std::size_t kMaxError = kMaxMessage / 2;

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_H_
