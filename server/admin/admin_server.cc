#include "server/admin/admin_server.h"

#include <grpc/grpc.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "server/admin/admin_service.h"
#include "server/admin/peer_listener.h"
#include "server/base/status.h"

namespace forebay::admin {
namespace {

// The limits bound what a client, even a faulty one, can take from the daemon.
// They are low because requests contain only a few names and numbers, and few
// clients call at once.
constexpr int kMaxRequestBytes = 16 << 10;
constexpr int kMaxHeaderBytes = 16 << 10;
constexpr int kMaxCallsPerConnection = 8;
constexpr int kMaxThreads = 8;
// The time that calls under way have to end once the server stops.
constexpr std::chrono::milliseconds kGrace(500);

// The server and its service. The listener is the last member, because its
// thread adds connections to the server until it is destroyed.
class GrpcAdminServer final : public AdminServer {
 public:
  GrpcAdminServer(std::unique_ptr<grpc::Service> service,
                  std::unique_ptr<grpc::Server> server)
      : service_(std::move(service)), server_(std::move(server)) {}

  ~GrpcAdminServer() override {
    StopListening();
    // gRPC cancels the calls that are still open after kGrace.
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    server_->Wait();
  }

  void StopListening() override { listener_.reset(); }

  // Accepted connections go to gRPC by their descriptors. gRPC's own listener
  // cannot check the uid of a peer before it reads from the peer.
  absl::Status Listen(const std::string& path) {
    FOREBAY_ASSIGN_OR_RETURN(
        listener_, PeerListener::Listen(path, getuid(), [this](base::Fd peer) {
          grpc::AddInsecureChannelFromFd(server_.get(), peer.Release());
        }));
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<grpc::Service> service_;
  const std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PeerListener> listener_;
};

// Keeps gRPC's library from shutting down with the last server. Its shutdown
// joins a polling thread, which may sleep for ten seconds.
void KeepGrpc() {
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
}

// Returns a gRPC server without a port: it gets its connections one by one from
// the PeerListener.
std::unique_ptr<grpc::Server> Build(grpc::Service* service) {
  grpc::ResourceQuota quota("admin");
  quota.SetMaxThreads(kMaxThreads);
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(kMaxRequestBytes)
      .SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2)
      .AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes)
      .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                          kMaxCallsPerConnection)
      .RegisterService(service);
  return builder.BuildAndStart();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    const std::string& path, Subjects subjects) {
  KeepGrpc();
  std::unique_ptr<grpc::Service> service = NewAdminService(std::move(subjects));
  std::unique_ptr<grpc::Server> grpc_server = Build(service.get());
  if (grpc_server == nullptr) {
    return absl::InternalError("gRPC did not start");
  }
  auto server = std::make_unique<GrpcAdminServer>(std::move(service),
                                                  std::move(grpc_server));
  FOREBAY_RETURN_IF_ERROR(server->Listen(path));
  return server;
}

}  // namespace forebay::admin
