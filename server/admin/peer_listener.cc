#include "server/admin/peer_listener.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::admin {
namespace {

// The pause before the next attempt to accept, when the process has no
// descriptor or memory left.
constexpr int kOutOfDescriptorsMillis = 100;
// The most connections that may wait to be accepted. People and monitors make
// few connections.
constexpr int kBacklog = 16;

// Refuses a directory in which other users could put a socket, or reach the
// daemon's socket.
absl::Status CheckDirectory(const std::string& path, uid_t uid) {
  const std::string directory = path.substr(0, path.rfind('/'));
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) {
    return base::ErrnoStatus(errno, directory);
  }
  if (status.st_uid != uid || (status.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, ": must belong to uid ", uid, " and have mode 0700"));
  }
  return absl::OkStatus();
}

// Returns a socket that listens at `path`, open to its owner alone.
absl::StatusOr<base::Fd> Bind(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": longer than a socket's path may be (",
                     sizeof(address.sun_path) - 1, " bytes)"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  base::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return base::ErrnoStatus(errno, "socket");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::ErrnoStatus(errno, path);
  }
  // No process can connect before listen(), so it is soon enough to set the
  // mode before that call.
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
          0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), kBacklog) != 0) {
    return base::ErrnoStatus(errno, path);
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerListener>> PeerListener::Listen(
    const std::string& path, uid_t uid, Handler handler) {
  FOREBAY_RETURN_IF_ERROR(CheckDirectory(path, uid));
  FOREBAY_ASSIGN_OR_RETURN(base::Fd socket, Bind(path));
  base::Fd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return base::ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<PeerListener>(new PeerListener(
      path, uid, std::move(handler), std::move(socket), std::move(stop)));
}

PeerListener::PeerListener(std::string path, uid_t uid, Handler handler,
                           base::Fd socket, base::Fd stop)
    : path_(std::move(path)),
      uid_(uid),
      handler_(std::move(handler)),
      socket_(std::move(socket)),
      stop_(std::move(stop)),
      thread_([this] { Run(); }) {}

PeerListener::~PeerListener() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  unlink(path_.c_str());
}

void PeerListener::Run() {
  pollfd fds[] = {{stop_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) {
      spdlog::error("{}: {}", path_, std::strerror(errno));
      return;
    }
    if (fds[0].revents != 0) return;
    if (fds[1].revents == 0) continue;
    while (AcceptOne()) {
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
        errno == ENOBUFS) {
      // The connection stays in the backlog, so the socket stays readable, and
      // a poll for it would return at once. This poll waits for `stop_` alone.
      poll(fds, 1, kOutOfDescriptorsMillis);
    }
  }
}

bool PeerListener::AcceptOne() {
  base::Fd peer(
      accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer) return errno == ECONNABORTED || errno == EINTR;
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) !=
          0 ||
      credentials.uid != uid_) {
    spdlog::warn("{}: refused a connection of uid {} (process {})", path_,
                 credentials.uid, credentials.pid);
    return true;
  }
  handler_(std::move(peer));
  return true;
}

}  // namespace forebay::admin
