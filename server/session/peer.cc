#include "server/session/peer.h"

#include <sys/socket.h>
#include <sys/stat.h>

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
  // Only the entry of a pidfd has a line "Pid:" (pidfd_open(2)). If the process
  // has ended, the number in that line is -1.
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", pidfd));
  if (!info.is_open()) return base::ErrnoStatus(errno, "checking a pidfd");
  const std::string wanted = absl::StrCat("Pid:\t", pid);
  for (std::string line; std::getline(info, line);) {
    if (line == wanted) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the greeting came without a pidfd of process ", pid));
}

absl::Status CheckPipe(int fd) {
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "what came with the greeting beside a pidfd is not a pipe");
}

absl::Status CheckGreeting(absl::Span<const base::Fd> fds, std::uint32_t pid) {
  if (fds.empty() || fds.size() > 2) {
    return absl::InvalidArgumentError(
        "a greeting comes with the client's pidfd, and perhaps a pipe");
  }
  FOREBAY_RETURN_IF_ERROR(CheckPidfd(fds[0].get(), pid));
  return fds.size() == 2 ? CheckPipe(fds[1].get()) : absl::OkStatus();
}

}  // namespace forebay::session
