#include "server/session/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::session {
namespace {

// The most connections that may wait to be accepted. When a job of many
// processes starts, many connections come at once.
constexpr int kBacklog = 128;

// Returns the descriptors that came with a message, in its SCM_RIGHTS control
// messages (unix(7)).
std::vector<base::Fd> Descriptors(struct msghdr* message) {
  std::vector<base::Fd> fds;
  for (struct cmsghdr* control = CMSG_FIRSTHDR(message); control != nullptr;
       control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
      continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

absl::StatusOr<base::Fd> Listen(const std::string& path) {
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a socket's path has fewer than ",
                     sizeof(address.sun_path), " bytes"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  base::Fd socket(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return base::ErrnoStatus(errno, "creating a socket");
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    return base::ErrnoStatus(errno, path);
  // fchmod comes before bind, so that the file never exists with a wider mode.
  if (fchmod(socket.get(), 0600) != 0 ||
      bind(socket.get(), reinterpret_cast<struct sockaddr*>(&address),
           sizeof(address)) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(socket.get(), kBacklog) != 0) {
    return base::ErrnoStatus(errno, path);
  }
  return socket;
}

// The kernel has already installed the descriptors in this process. They are
// therefore taken over before anything is checked, so that a refused datagram
// closes them.
absl::StatusOr<Datagram> Receive(int socket) {
  Datagram datagram;
  datagram.bytes.resize(kMaxMessage);
  alignas(
      struct cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  struct iovec data = {.iov_base = datagram.bytes.data(),
                       .iov_len = datagram.bytes.size()};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t n;
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return absl::UnavailableError("no message");
    return absl::OutOfRangeError("the peer has gone");
  }
  datagram.fds = Descriptors(&message);
  // An empty datagram is not a message, and cannot be told from a hang-up.
  if (n == 0) return absl::OutOfRangeError("the peer has hung up");
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message larger than ", kMaxMessage, " bytes"));
  }
  // `control` has room for kMaxDescriptors, so only a lack of descriptors in
  // this process truncates it.
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return absl::ResourceExhaustedError(
        "the daemon has no file descriptor left: raise its limit (ulimit -n, "
        "or LimitNOFILE= of the unit)");
  }
  datagram.bytes.resize(static_cast<std::size_t>(n));
  return datagram;
}

absl::Status Send(int socket, const std::string& bytes,
                  absl::Span<const int> fds) {
  struct iovec data = {.iov_base = const_cast<char*>(bytes.data()),
                       .iov_len = bytes.size()};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  std::string control(CMSG_SPACE(fds.size() * sizeof(int)), '\0');
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t n;
  do {
    n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    return absl::UnavailableError(
        absl::StrCat("sending: ", std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace forebay::session
