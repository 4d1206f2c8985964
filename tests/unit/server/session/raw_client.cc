#include "tests/unit/server/session/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "proto/shm_layout.h"
#include "server/session/socket.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::session {

using tests::IsOk;

RawClient::RawClient()
    : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  CHECK(socket_);
}

RawClient::RawClient(const std::string& path) : RawClient() {
  Connect(path);
  Greet();
}

void RawClient::Connect(const std::string& path) {
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  CHECK(connect(socket_.get(), reinterpret_cast<struct sockaddr*>(&address),
                sizeof(address)) == 0);
}

void RawClient::Greet(int pipe) {
  SendGreeting(pipe);
  CHECK(Answer().has_welcome());
}

void RawClient::SendGreeting(int pipe) {
  const base::Fd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  proto::ClientMessage message;
  message.mutable_hello()->set_protocol_version(proto::kProtocolVersion);
  message.mutable_hello()->mutable_job()->set_key("test");
  std::vector<int> fds = {self.get()};
  if (pipe >= 0) fds.push_back(pipe);
  Send(std::move(message), fds);
}

void RawClient::HangUp() { CHECK(shutdown(socket_.get(), SHUT_RDWR) == 0); }

void RawClient::Send(proto::ClientMessage message, absl::Span<const int> fds) {
  message.set_request_id(++last_id_);
  const absl::Status sent =
      session::Send(socket_.get(), message.SerializeAsString(), fds);
  CHECK_THAT(sent, IsOk());
}

void RawClient::SendOpen(const std::string& folder) {
  const base::Fd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  proto::ClientMessage message;
  proto::LoaderSpec& spec = *message.mutable_open_loader()->mutable_spec();
  spec.mutable_dataset()->set_uri(folder);
  spec.mutable_dataset()->mutable_image_folder();
  spec.mutable_batch()->set_batch_size(4);
  proto::Resize& resize = *spec.mutable_pipeline()->add_ops()->mutable_resize();
  resize.set_height(32);
  resize.set_width(32);
  Send(std::move(message), {root.get()});
}

void RawClient::SendStart(std::uint64_t loader) {
  proto::ClientMessage message;
  message.mutable_start_epoch()->set_loader_id(loader);
  Send(std::move(message));
}

void RawClient::SendGetStats(std::uint64_t loader) {
  proto::ClientMessage message;
  message.mutable_get_stats()->set_loader_id(loader);
  Send(std::move(message));
}

std::optional<proto::DaemonMessage> RawClient::Receive() {
  struct pollfd readable = {
      .fd = socket_.get(), .events = POLLIN, .revents = 0};
  while (poll(&readable, 1, -1) != 1) {
  }
  auto datagram = session::Receive(socket_.get());
  if (absl::IsOutOfRange(datagram.status())) return std::nullopt;
  CHECK_THAT(datagram, IsOk());
  if (!datagram.ok()) return std::nullopt;
  proto::DaemonMessage message;
  CHECK(message.ParseFromString(datagram->bytes));
  fds_ = std::move(datagram->fds);
  return message;
}

proto::DaemonMessage RawClient::Ask(const proto::ClientMessage& message,
                                    absl::Span<const int> fds) {
  Send(message, fds);
  return Answer();
}

proto::LoaderOpened RawClient::Open(const std::string& folder) {
  SendOpen(folder);
  const proto::DaemonMessage answer = Answer();
  CAPTURE(answer.ShortDebugString());
  CHECK(answer.has_loader_opened());
  return answer.loader_opened();
}

proto::DaemonMessage RawClient::Start(std::uint64_t loader) {
  SendStart(loader);
  return Answer();
}

proto::DaemonMessage RawClient::Answer() {
  auto answer = Receive();
  UNSCOPED_INFO("the daemon has hung up");
  CHECK(answer.has_value());
  return answer.value_or(proto::DaemonMessage());
}

}  // namespace forebay::session
