#ifndef FOREBAY_SERVER_SESSION_PEER_H_
#define FOREBAY_SERVER_SESSION_PEER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"

namespace forebay::session {

// The process at the other end of a socket, as the kernel names it.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
};

// All functions are thread-safe and ask only the kernel, which answers at once.

// Returns the process that connected a Unix socket (SO_PEERCRED, unix(7)).
absl::StatusOr<Peer> PeerOf(int socket);

// Returns INVALID_ARGUMENT unless `pidfd` is a pidfd of process `pid`. Clients
// send a pidfd of their own, because the daemon cannot open one safely: by then
// the number may belong to another process. RESOURCE_EXHAUSTED: the daemon has
// no descriptor left for the check.
absl::Status CheckPidfd(int pidfd, std::uint32_t pid);
// Returns INVALID_ARGUMENT unless `fd` is an end of a pipe.
absl::Status CheckPipe(int fd);
// Returns INVALID_ARGUMENT unless `fds` are a greeting's descriptors: a pidfd
// of process `pid` and perhaps a pipe. Other errors are CheckPidfd's.
absl::Status CheckGreeting(absl::Span<const base::Fd> fds, std::uint32_t pid);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PEER_H_
