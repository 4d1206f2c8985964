#include "server/session/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::session {

absl::StatusOr<Peer> PeerOf(int socket) {
  struct ucred credentials;
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return base::ErrnoStatus(errno, "asking for a client's credentials");
  }
  return Peer{.uid = credentials.uid,
              .pid = static_cast<std::uint32_t>(credentials.pid)};
}

absl::Status CheckPidfd(int pidfd, std::uint32_t pid) {
  // Only a pidfd has this line; a process that is gone has -1 there.
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", pidfd));
  if (!info.is_open()) return base::ErrnoStatus(errno, "checking a pidfd");
  const std::string wanted = absl::StrCat("Pid:\t", pid);
  for (std::string line; std::getline(info, line);) {
    if (line == wanted) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the greeting came without a pidfd of process ", pid));
}

}  // namespace forebay::session
