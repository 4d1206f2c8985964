#ifndef FOREBAY_SERVER_SESSION_PEER_H_
#define FOREBAY_SERVER_SESSION_PEER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"

namespace forebay::session {

// Who is at the other end of a socket, by the kernel's word.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
};

absl::StatusOr<Peer> PeerOf(int socket);

// INVALID_ARGUMENT unless `pidfd` is a pidfd of process `pid`. A client sends
// its own, since opening one by number could hit another process that has taken
// the number over. RESOURCE_EXHAUSTED: no descriptor was left to look.
absl::Status CheckPidfd(int pidfd, std::uint32_t pid);
// INVALID_ARGUMENT unless it is an end of a pipe.
absl::Status CheckPipe(int fd);
// Whether these are what a greeting comes with: CheckPidfd's and, perhaps,
// CheckPipe's.
absl::Status CheckGreeting(absl::Span<const base::Fd> fds, std::uint32_t pid);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PEER_H_
