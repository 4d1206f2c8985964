#ifndef FOREBAY_SERVER_SESSION_SOCKET_H_
#define FOREBAY_SERVER_SESSION_SOCKET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"

namespace forebay::session {

// The functions are thread-safe and never block: they do not wait for sockets.

// The most bytes of a message. The kernel refuses datagrams above some 200 KB,
// so longer content travels in a memfd.
inline constexpr std::size_t kMaxMessage = 64 * 1024;
// The most descriptors of a message: SCM_MAX_FD of Linux (unix(7)).
inline constexpr std::size_t kMaxDescriptors = 253;

// A message, and the descriptors that came with it.
struct Datagram {
  std::string bytes;
  std::vector<base::Fd> fds;
};

// Returns a listening SOCK_SEQPACKET socket at `path`, which only its owner may
// connect to. Removes a file at the path: the caller knows that no daemon
// listens there.
absl::StatusOr<base::Fd> Listen(const std::string& path);

// Returns the next datagram of a socket. UNAVAILABLE: there is none now.
// OUT_OF_RANGE: the peer has hung up. INVALID_ARGUMENT: the datagram is larger
// than kMaxMessage. RESOURCE_EXHAUSTED: this process has no room for the
// datagram's descriptors.
absl::StatusOr<Datagram> Receive(int socket);

// Sends one datagram with copies of the descriptors `fds`. UNAVAILABLE: the
// peer does not read, or is gone.
absl::Status Send(int socket, const std::string& bytes,
                  absl::Span<const int> fds);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SOCKET_H_
