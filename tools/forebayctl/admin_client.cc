#include "tools/forebayctl/admin_client.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "proto/admin.grpc.pb.h"
#include "proto/shm_layout.h"
#include "tools/forebayctl/runtime_dir.h"

namespace forebay::ctl {
namespace {

constexpr std::chrono::seconds kCallTimeout(10);
constexpr std::chrono::seconds kPeekTimeout(60);
// The most bytes of a batch that Peek accepts; no slot has more. This bound
// keeps a wrong total from taking all memory.
constexpr std::uint64_t kMaxBatchBytes = std::uint64_t{16} << 30;

// Returns a call's status with a message that suits a user of the command.
absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError("the daemon did not answer in time");
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      status.error_details().empty() &&
      status.error_message().find("ocket") != std::string::npos) {
    return absl::UnavailableError("the daemon closed the connection");
  }
  // gRPC gives this status if protobuf cannot read the request.
  if (status.error_code() == grpc::StatusCode::INTERNAL &&
      status.error_message().empty()) {
    return absl::InvalidArgumentError(
        "the daemon cannot read the request: its text is not UTF-8");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

// The type of the payload by which IsNoDaemon recognises a status of NoDaemon.
constexpr char kNoDaemonUrl[] = "forebay.NoDaemon";

// Returns the error of a directory in which no daemon runs.
absl::Status NoDaemon(const std::string& runtime_dir) {
  absl::Status status = absl::UnavailableError(
      absl::StrCat("no forebay daemon is running in ", runtime_dir));
  status.SetPayload(kNoDaemonUrl, absl::Cord());
  return status;
}

// Returns a connected socket. The socket is connected here and not by gRPC,
// which would not say why it cannot connect.
absl::StatusOr<int> ConnectSocket(const std::string& runtime_dir) {
  const absl::Status owner = CheckOwner(runtime_dir);
  if (absl::IsNotFound(owner)) return NoDaemon(runtime_dir);
  if (!owner.ok()) return owner;
  const std::string path = absl::StrCat(runtime_dir, "/admin.sock");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is longer than a socket's path may be"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
      0) {
    const int error = errno;
    close(fd);
    if (error == ENOENT || error == ECONNREFUSED) return NoDaemon(runtime_dir);
    return absl::ErrnoToStatus(error, path);
  }
  // The directory may have been replaced since it was checked, so the daemon's
  // own uid is checked too.
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != getuid() && peer.uid != 0)) {
    close(fd);
    return absl::PermissionDeniedError(absl::StrCat(
        "the daemon at ", path, " runs as uid ", peer.uid, ": not trusted"));
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

// The client over gRPC. Each call has a deadline, so that a daemon that hangs
// does not hang the command.
class GrpcAdminClient final : public AdminClient {
 public:
  explicit GrpcAdminClient(std::unique_ptr<proto::Admin::Stub> stub)
      : stub_(std::move(stub)) {}

  absl::StatusOr<proto::DaemonStatus> GetStatus() override {
    return Call(&proto::Admin::Stub::GetStatus, {});
  }

  absl::StatusOr<proto::JobList> ListJobs() override {
    return Call(&proto::Admin::Stub::ListJobs, {});
  }

  absl::StatusOr<proto::CacheStatus> GetCache() override {
    return Call(&proto::Admin::Stub::GetCache, {});
  }

  absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                   const std::string& loader) override {
    grpc::ClientContext context;
    SetDeadline(kPeekTimeout, &context);
    proto::PeekRequest request;
    request.set_job(job);
    request.set_loader(loader);
    const auto reader = stub_->Peek(&context, request);
    PeekedBatch batch;
    const bool began = reader->Read(&batch.layout);
    bool sane = batch.layout.data().empty() &&
                batch.layout.total_bytes() <= kMaxBatchBytes;
    proto::PeekChunk chunk;
    while (began && sane && reader->Read(&chunk)) {
      sane =
          chunk.data().size() <= batch.layout.total_bytes() - batch.data.size();
      if (sane) batch.data += chunk.data();
    }
    if (!sane) context.TryCancel();
    const absl::Status result = FromGrpc(reader->Finish());
    if (!sane || (result.ok() && !began)) {
      return absl::InternalError("the daemon sent a batch that makes no sense");
    }
    if (!result.ok()) return result;
    const absl::Status checked = CheckBatch(batch);
    if (!checked.ok()) return checked;
    return batch;
  }

  absl::Status SetJob(const proto::SetJobRequest& request) override {
    return Call(&proto::Admin::Stub::SetJob, request).status();
  }

 private:
  template <typename Request, typename Answer>
  absl::StatusOr<Answer> Call(
      grpc::Status (proto::Admin::Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Answer*),
      const Request& request) {
    grpc::ClientContext context;
    SetDeadline(kCallTimeout, &context);
    Answer answer;
    const absl::Status result =
        FromGrpc((*stub_.*method)(&context, request, &answer));
    if (!result.ok()) return result;
    return answer;
  }

  static void SetDeadline(std::chrono::seconds timeout,
                          grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + timeout);
  }

  const std::unique_ptr<proto::Admin::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Connect(
    const std::string& runtime_dir) {
  const absl::StatusOr<int> fd = ConnectSocket(runtime_dir);
  if (!fd.ok()) return fd.status();
  // This keeps gRPC's library from shutting down with the last channel. Its
  // shutdown joins a polling thread, which may sleep for ten seconds.
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
  return std::make_unique<GrpcAdminClient>(
      proto::Admin::NewStub(grpc::CreateInsecureChannelFromFd("forebay", *fd)));
}

bool IsNoDaemon(const absl::Status& status) {
  return status.GetPayload(kNoDaemonUrl).has_value();
}

absl::Status CheckBatch(const PeekedBatch& batch) {
  for (const proto::PeekChunk::Field& field : batch.layout.fields()) {
    std::uint64_t bytes =
        proto::SizeOf(static_cast<proto::DType>(field.dtype()));
    bool sane = bytes != 0 && field.shape_size() != 0;
    for (const std::uint64_t extent : field.shape()) {
      sane = sane && !__builtin_mul_overflow(bytes, extent, &bytes);
    }
    if (!sane || bytes != field.bytes() || field.offset() > batch.data.size() ||
        bytes > batch.data.size() - field.offset()) {
      return absl::InternalError(absl::StrCat("the daemon sent a field \"",
                                              field.name(),
                                              "\" that makes no sense"));
    }
  }
  return absl::OkStatus();
}

}  // namespace forebay::ctl
