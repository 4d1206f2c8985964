#include "client/wire/packet_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

namespace forebay::client::wire {
namespace {

Status Gone() {
  return Status(FOREBAY_UNAVAILABLE, "the Forebay daemon closed the session");
}

// Room for the control message of kMaxFds descriptors, aligned as cmsg(3)
// requires.
union ControlBuffer {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(kMaxFds * sizeof(int))];
};

// Takes ownership of a received message's descriptors, so that they are closed
// even if the message is refused later.
void TakeFds(struct msghdr* message, std::vector<proto::Fd>* fds) {
  for (struct cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr;
       header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
      continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
}

}  // namespace

Status SendPacket(int socket, std::string_view bytes,
                  const std::vector<int>& fds) {
  if (bytes.size() > kMaxMessage || fds.size() > kMaxFds)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "the request is larger than a message may be");
  struct iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control = {};
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Status();
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return Gone();
  if (errno == EAGAIN)
    return Status(FOREBAY_UNAVAILABLE,
                  "the Forebay daemon does not read its messages");
  return ErrnoStatus(errno, "cannot send to the Forebay daemon");
}

Status ReceivePacket(int socket, std::int64_t timeout_nanos, std::string* bytes,
                     std::vector<proto::Fd>* fds) {
  struct pollfd waiting = {socket, POLLIN, 0};
  const struct timespec timeout = {timeout_nanos / 1'000'000'000,
                                   timeout_nanos % 1'000'000'000};
  const int ready = ppoll(&waiting, 1, &timeout, nullptr);
  if (ready == 0)
    return Status(FOREBAY_TIMEOUT, "the Forebay daemon has not answered yet");
  if (ready < 0) {
    if (errno == EINTR)
      return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
    return ErrnoStatus(errno, "cannot wait for the Forebay daemon");
  }

  bytes->resize(kMaxMessage);
  ControlBuffer control = {};
  struct iovec part = {bytes->data(), bytes->size()};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t received =
      recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) {
    if (errno == EAGAIN)
      return Status(FOREBAY_TIMEOUT, "the Forebay daemon has not answered yet");
    if (errno == EINTR)
      return Status(FOREBAY_INTERRUPTED, "interrupted by a signal");
    if (errno == ECONNRESET || errno == ENOTCONN) return Gone();
    return ErrnoStatus(errno, "cannot receive from the Forebay daemon");
  }
  TakeFds(&message, fds);
  if ((message.msg_flags & MSG_TRUNC) != 0)
    return Status(FOREBAY_INTERNAL, "the daemon sent an oversized message");
  // The kernel drops descriptors if this process may open no more.
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    return ErrnoStatus(EMFILE, "cannot take the daemon's batches");
  if (received == 0) return Gone();
  bytes->resize(received);
  return Status();
}

bool IsHungUp(int socket) {
  struct pollfd state = {socket, POLLRDHUP, 0};
  return poll(&state, 1, 0) > 0 &&
         (state.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

Status SealedMemory(std::string_view bytes, proto::Fd* out) {
  proto::Fd fd(memfd_create("forebay-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return ErrnoStatus(errno, "cannot make shared memory");
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "cannot fill shared memory");
    bytes.remove_prefix(written);
  }
  if (fcntl(fd.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return ErrnoStatus(errno, "cannot seal shared memory");
  *out = std::move(fd);
  return Status();
}

Status ReadMemory(int fd, std::uint64_t limit, std::string* bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return ErrnoStatus(errno, "cannot look at shared memory");
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > limit)
    return Status(FOREBAY_INTERNAL, "the daemon sent an oversized list");
  bytes->resize(status.st_size);
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t count =
        pread(fd, bytes->data() + done, bytes->size() - done, done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "cannot read shared memory");
    if (count == 0) break;
    done += count;
  }
  bytes->resize(done);
  return Status();
}

}  // namespace forebay::client::wire
