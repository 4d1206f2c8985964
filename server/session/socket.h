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

// The kernel refuses datagrams above some 200 KB. Anything longer than this
// travels in a memfd.
inline constexpr std::size_t kMaxMessage = 64 * 1024;
// SCM_MAX_FD of Linux.
inline constexpr std::size_t kMaxDescriptors = 253;

struct Datagram {
  std::string bytes;
  std::vector<base::Fd> fds;
};

// Returns a listening SOCK_SEQPACKET socket at `path`, open to its owner alone.
// Removes what lay at the path: the caller knows that no daemon listens there.
absl::StatusOr<base::Fd> Listen(const std::string& path);

// Returns the next datagram of a non-blocking socket. UNAVAILABLE: there is
// none now; OUT_OF_RANGE: the peer has hung up; INVALID_ARGUMENT: larger than
// kMaxMessage; RESOURCE_EXHAUSTED: this process has no room for its
// descriptors.
absl::StatusOr<Datagram> Receive(int socket);

// Sends one datagram. The descriptors stay the caller's. UNAVAILABLE: the peer
// does not read, or is gone.
absl::Status Send(int socket, const std::string& bytes,
                  absl::Span<const int> fds);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SOCKET_H_
