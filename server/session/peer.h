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

absl::StatusOr<Peer> PeerOf(int socket);

// INVALID_ARGUMENT unless `pidfd` is a pidfd of process `pid`. A client sends
// its own: one opened by number could be another process's that has the number
// by then. RESOURCE_EXHAUSTED: no descriptor was left to check it.
absl::Status CheckPidfd(int pidfd, std::uint32_t pid);
// INVALID_ARGUMENT unless `fd` is an end of a pipe.
absl::Status CheckPipe(int fd);
// INVALID_ARGUMENT unless these are a greeting's descriptors: a pidfd of
// process `pid` and, perhaps, a pipe. Else as CheckPidfd.
absl::Status CheckGreeting(absl::Span<const base::Fd> fds, std::uint32_t pid);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PEER_H_
