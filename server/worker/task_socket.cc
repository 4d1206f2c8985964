#include "server/worker/task_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::worker {
namespace {

// The most CPU time that an answer may report: some 13 days. Sums of such times
// do not overflow a signed 64-bit number.
constexpr std::uint64_t kMaxCpuNanos = std::uint64_t{1} << 50;

absl::Status Gone() {
  return absl::UnavailableError("a process that makes samples is gone");
}

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "a process that makes samples sent an answer that is none");
}

// Parses an answer. The bytes come from the user's process, so every number is
// checked before it is used.
absl::StatusOr<TaskAnswer> Parse(absl::Span<const char> bytes) {
  const auto take = [&bytes](void* to, std::size_t size) {
    if (bytes.size() < size) return false;
    std::memcpy(to, bytes.data(), size);
    bytes.remove_prefix(size);
    return true;
  };
  proto::WorkerAnswer header;
  if (!take(&header, sizeof(header)) ||
      header.failures > proto::kMaxProducedSamples ||
      header.cpu_nanos > kMaxCpuNanos)
    return Malformed();
  TaskAnswer answer{.cpu_nanos = header.cpu_nanos, .failures = {}, .fd = {}};
  for (std::uint32_t i = 0; i < header.failures; ++i) {
    proto::WorkerFailure failure;
    if (!take(&failure, sizeof(failure)) ||
        failure.bytes > proto::kMaxWorkerError ||
        failure.bytes > bytes.size() ||
        failure.index >= proto::kMaxProducedSamples)
      return Malformed();
    answer.failures.push_back(
        {.index = failure.index,
         .text = std::string(bytes.data(), failure.bytes)});
    bytes.remove_prefix(failure.bytes);
  }
  if (!bytes.empty()) return Malformed();
  return answer;
}

// Returns the first descriptor that came with a message, and closes the others.
base::Fd TakeFd(const struct cmsghdr* control) {
  base::Fd first;
  const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
    base::Fd one(fd);
    if (!first) first = std::move(one);
  }
  return first;
}

// Reads the ancillary data of a message (unix(7)). Sets `sender` to the process
// that sent the message, or to 0 if it is in another PID namespace. Sets `fd`
// to the descriptor that came.
void TakeControl(struct msghdr* message, pid_t* sender, base::Fd* fd) {
  for (struct cmsghdr* control = CMSG_FIRSTHDR(message); control != nullptr;
       control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET) continue;
    if (control->cmsg_type == SCM_RIGHTS) *fd = TakeFd(control);
    if (control->cmsg_type != SCM_CREDENTIALS) continue;
    struct ucred credentials;
    std::memcpy(&credentials, CMSG_DATA(control), sizeof(credentials));
    *sender = credentials.pid;
  }
}

}  // namespace

absl::StatusOr<TaskSocket::Pair> TaskSocket::Create() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::ErrnoStatus(errno, "making a socket");
  Pair pair{.ours = TaskSocket(base::Fd(ends[0])), .theirs = base::Fd(ends[1])};
  const int on = 1;
  // SO_PASSCRED makes the kernel attach the sender's process id to each
  // message.
  if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return base::ErrnoStatus(errno, "making a socket");
  return pair;
}

absl::Status TaskSocket::Ask(const proto::WorkerTask& task,
                             absl::Span<const std::uint8_t> behind, int fd) {
  std::array<struct iovec, 2> parts = {
      {{.iov_base = const_cast<proto::WorkerTask*>(&task),
        .iov_len = sizeof(task)},
       {.iov_base = const_cast<std::uint8_t*>(behind.data()),
        .iov_len = behind.size()}}};
  struct msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  was_sent_ = false;
  // A message that is already there answers no task. A forked child of the
  // process may have sent it, for example. The process cannot be relied on
  // then.
  char byte;
  if (recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
    ssize_t sent;
    do {
      sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    was_sent_ = sent >= 0;
    if (was_sent_) return absl::OkStatus();
  }
  End();
  return Gone();
}

bool TaskSocket::PollFor(int milliseconds) const {
  struct pollfd ready = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return poll(&ready, 1, milliseconds) > 0;
}

absl::StatusOr<TaskAnswer> TaskSocket::Await(int milliseconds) {
  if (!PollFor(milliseconds))
    return absl::DeadlineExceededError("no answer yet");
  std::string bytes(proto::kMaxWorkerMessage, '\0');
  // If more descriptors come than fit this space, the kernel closes them.
  alignas(struct cmsghdr) char
      control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
  struct iovec data = {.iov_base = bytes.data(), .iov_len = bytes.size()};
  struct msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t received;
  do {
    received =
        recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  // ECONNRESET means that the peer closed its socket with a message unread.
  if (received < 0 && errno == ECONNRESET) left_unread_ = true;
  if (received <= 0) return Gone();
  pid_t sender = 0;
  base::Fd fd;
  TakeControl(&message, &sender, &fd);
  if ((message.msg_flags & MSG_TRUNC) != 0) return Malformed();
  pid_ = sender;
  FOREBAY_ASSIGN_OR_RETURN(
      TaskAnswer answer,
      Parse({bytes.data(), static_cast<std::size_t>(received)}));
  answer.fd = std::move(fd);
  answer.sender = sender;
  return answer;
}

void TaskSocket::End() { shutdown(socket_.get(), SHUT_RDWR); }

void TaskSocket::Dismiss() { shutdown(socket_.get(), SHUT_WR); }

}  // namespace forebay::worker
