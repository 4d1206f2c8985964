#include "client/wire/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/base/deadline.h"
#include "client/wire/daemon_socket.h"
#include "client/wire/packet_socket.h"
#include "proto/shm_layout.h"
#include "proto/version.h"

namespace forebay::client::wire {
namespace {

// The nanoseconds within which a daemon must greet.
constexpr std::int64_t kHelloNanos = 10'000'000'000;
// The request id of an error that answers no request. Such an error is the
// daemon's reason to hang up.
constexpr std::uint64_t kNoRequest = 0;
// The largest list of classes, in bytes, that a client takes into its memory.
constexpr std::uint64_t kMaxClassListBytes = 256 << 20;

Status Silent() {
  return Status(FOREBAY_UNAVAILABLE, "the Forebay daemon does not answer");
}

}  // namespace

Status ToStatus(const message::Error& error) {
  const forebay_status code = FromDaemonCode(error.code);
  return Status(code == FOREBAY_OK ? FOREBAY_INTERNAL : code, error.message);
}

Status MalformedAnswer(const char* request) {
  return Status(FOREBAY_INTERNAL,
                std::string("the daemon's answer is malformed: ") + request);
}

Status ReadClassList(const proto::Fd& memory, message::ClassList* classes) {
  std::string bytes;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      ReadMemory(memory.get(), kMaxClassListBytes, &bytes));
  if (message::Parse(bytes, classes)) return Status();
  return Status(FOREBAY_INTERNAL, "the daemon sent a malformed class list");
}

Status Session::Open(const std::string& runtime_dir, const std::string& job_key,
                     const std::string& job_name, double weight,
                     std::unique_ptr<Session>* out) {
  proto::Fd socket;
  FOREBAY_CLIENT_RETURN_IF_ERROR(ConnectToDaemon(runtime_dir, &socket));
  auto session = std::make_unique<Session>(std::move(socket));

  // The pidfd and the pipe tell the daemon when this process has ended, or has
  // replaced itself by exec. The daemon can then take its memory back.
  const proto::Fd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!self) return ErrnoStatus(errno, "cannot open a pidfd of this process");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ErrnoStatus(errno, "cannot make a pipe");
  const proto::Fd watched(ends[0]);
  session->lifeline_ = proto::Fd(ends[1]);
  message::Hello hello;
  hello.protocol_version = proto::kProtocolVersion;
  hello.client_version = proto::kVersion;
  hello.job = {.key = job_key, .name = job_name, .weight = weight};
  std::uint64_t id;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session->Send(std::move(hello), {self.get(), watched.get()}, &id));
  Reply reply;
  const Deadline deadline(kHelloNanos);
  Status status;
  do {
    status = session->Await(id, deadline.Remaining(), &reply);
  } while (status.code == FOREBAY_INTERRUPTED);
  if (status.code == FOREBAY_TIMEOUT) return Silent();
  FOREBAY_CLIENT_RETURN_IF_ERROR(status);
  const auto* welcome = std::get_if<message::Welcome>(&reply.answer.kind);
  if (welcome == nullptr) return MalformedAnswer("hello");
  if (welcome->protocol_version != proto::kProtocolVersion)
    return Status(
        FOREBAY_FAILED_PRECONDITION,
        "the daemon (version " + welcome->daemon_version +
            ") speaks another protocol than this client: upgrade the older "
            "of the two");
  *out = std::move(session);
  return Status();
}

Status Session::Send(Request request, const std::vector<int>& fds,
                     std::uint64_t* request_id) {
  *request_id = ++last_request_id_;
  const std::string bytes = message::Serialize(message::ClientMessage{
      .request_id = *request_id, .kind = std::move(request)});
  const std::lock_guard lock(mutex_);
  Status status = SendPacket(socket_.get(), bytes, fds);
  if (!status.ok()) return status;
  unanswered_.insert(*request_id);
  return Status();
}

// Answers come in any order. The thread with the mutex receives the answers for
// all threads and stores them in replies_. A thread that gets the mutex later
// may find its answer there already.
Status Session::Await(std::uint64_t request_id, std::int64_t timeout_nanos,
                      Reply* reply) {
  const Deadline deadline(timeout_nanos);
  const std::lock_guard lock(mutex_);
  while (true) {
    if (auto found = replies_.extract(request_id)) {
      *reply = std::move(found.mapped());
      break;
    }
    FOREBAY_CLIENT_RETURN_IF_ERROR(ReceiveLocked(deadline.Remaining()));
  }
  const auto* error = std::get_if<message::Error>(&reply->answer.kind);
  return error == nullptr ? Status() : ToStatus(*error);
}

Status Session::Call(Request request, Reply* reply, const std::vector<int>& fds,
                     std::int64_t timeout_nanos) {
  std::uint64_t request_id;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Send(std::move(request), fds, &request_id));
  const Deadline deadline(timeout_nanos);
  while (true) {
    Status status = Await(request_id, deadline.Remaining(), reply);
    if (status.code == FOREBAY_INTERRUPTED) continue;
    if (status.code != FOREBAY_TIMEOUT) return status;
    Shutdown();
    return Silent();
  }
}

Status Session::ReceiveLocked(std::int64_t timeout_nanos) {
  std::string bytes;
  Reply reply;
  Status status =
      ReceivePacket(socket_.get(), timeout_nanos, &bytes, &reply.fds);
  if (status.code == FOREBAY_TIMEOUT || status.code == FOREBAY_INTERRUPTED)
    return status;
  if (status.ok() && !message::Parse(bytes, &reply.answer))
    status = Status(FOREBAY_INTERNAL, "the daemon sent a malformed message");
  if (!status.ok()) return FailLocked(status);
  const std::uint64_t id = reply.answer.request_id;
  const auto* error = std::get_if<message::Error>(&reply.answer.kind);
  if (id == kNoRequest && error != nullptr) return FailLocked(ToStatus(*error));
  // A second answer to the same request is refused like an answer to an unknown
  // request.
  if (unanswered_.erase(id) == 0)
    return FailLocked(Status(
        FOREBAY_INTERNAL, "the daemon answered a request that was not made"));
  replies_.emplace(id, std::move(reply));
  return Status();
}

Status Session::FailLocked(Status status) {
  Shutdown();
  return status;
}

bool Session::IsLost() const { return IsHungUp(socket_.get()); }

void Session::Shutdown() { shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace forebay::client::wire
