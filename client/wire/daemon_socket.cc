#include "client/wire/daemon_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

namespace forebay::client::wire {
namespace {

constexpr char kSocketName[] = "session.sock";
constexpr int kConnectSeconds = 10;

bool IsOurs(uid_t uid) { return uid == geteuid() || uid == 0; }

Status NotListening(const std::string& path) {
  return Status(FOREBAY_UNAVAILABLE, "no Forebay daemon listens at " + path);
}

// Refuses a directory or socket of another user. Also refuses a directory that
// other users may write to, because they could replace the socket after this
// check.
Status CheckOwners(int directory, const std::string& path) {
  struct stat dir_stat, socket_stat;
  if (fstat(directory, &dir_stat) != 0)
    return ErrnoStatus(errno, "cannot look at " + path);
  if (!IsOurs(dir_stat.st_uid))
    return Status(FOREBAY_PERMISSION_DENIED,
                  "the daemon's directory " + path + " belongs to uid " +
                      std::to_string(dir_stat.st_uid) + ": uid " +
                      std::to_string(geteuid()) +
                      " trusts only its own and root's");
  if ((dir_stat.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Status(FOREBAY_PERMISSION_DENIED,
                  "the daemon's directory " + path +
                      " may be written by other users: chmod go-w " + path);
  if (fstatat(directory, kSocketName, &socket_stat, AT_SYMLINK_NOFOLLOW) != 0)
    return NotListening(path + "/" + kSocketName);
  if (!S_ISSOCK(socket_stat.st_mode) || !IsOurs(socket_stat.st_uid))
    return Status(FOREBAY_PERMISSION_DENIED,
                  path + "/" + kSocketName + " is not a socket of uid " +
                      std::to_string(geteuid()) + " or of root, but of uid " +
                      std::to_string(socket_stat.st_uid));
  return Status();
}

// Refuses a process of another user that listens on the socket: the owner of
// the socket's file need not be the user of that process.
Status CheckPeer(int socket, const std::string& path) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return ErrnoStatus(errno, "cannot tell who listens at " + path);
  if (!IsOurs(peer.uid))
    return Status(FOREBAY_PERMISSION_DENIED,
                  "the daemon at " + path + " runs as another user (uid " +
                      std::to_string(peer.uid) + ")");
  return Status();
}

}  // namespace

std::string RuntimeDirectory() {
  if (const char* dir = getenv("FOREBAY_RUNTIME_DIR"); dir && *dir) return dir;
  struct stat ignored;
  if (stat("/run/forebay/session.sock", &ignored) == 0) return "/run/forebay";
  // A container may inherit the variable but lack the directory.
  if (const char* dir = getenv("XDG_RUNTIME_DIR");
      dir && *dir && stat(dir, &ignored) == 0)
    return std::string(dir) + "/forebay";
  return "/tmp/forebay-" + std::to_string(geteuid());
}

Status ConnectToDaemon(const std::string& directory, proto::Fd* socket_out) {
  const std::string path = directory.empty() ? RuntimeDirectory() : directory;
  const std::string socket_path = path + "/" + kSocketName;
  const proto::Fd dir(
      open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) {
    if (errno == ENOENT) return NotListening(socket_path);
    return ErrnoStatus(errno, "cannot open the daemon's directory " + path);
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOwners(dir.get(), path));

  proto::Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, "cannot make a socket");
  const struct timeval timeout = {kConnectSeconds, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);

  // The path goes through the directory's descriptor, so it names the directory
  // that was checked. The path is also short: a socket address holds at most
  // 107 bytes (unix(7)).
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string by_fd =
      "/proc/self/fd/" + std::to_string(dir.get()) + "/" + kSocketName;
  memcpy(address.sun_path, by_fd.c_str(), by_fd.size() + 1);
  int rc;
  do {
    rc = connect(fd.get(), reinterpret_cast<struct sockaddr*>(&address),
                 sizeof address);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN)
      return NotListening(socket_path);
    return ErrnoStatus(errno, "cannot connect to " + socket_path);
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckPeer(fd.get(), socket_path));
  *socket_out = std::move(fd);
  return Status();
}

}  // namespace forebay::client::wire
