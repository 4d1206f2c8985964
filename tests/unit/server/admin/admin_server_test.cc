#include "server/admin/admin_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "proto/admin.grpc.pb.h"
#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/admin/fake_control.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr uid_t kNobody = 65534;

class AdminServerTest {
 protected:
  AdminServerTest() {
    char directory[] = "/tmp/forebay-admin-test.XXXXXX";
    REQUIRE(mkdtemp(directory) != nullptr);
    directory_ = directory;
    path_ = directory_ + "/admin.sock";
    clock_.Advance(42);
    jobs_.SetJobs({ResnetJob()});
  }

  ~AdminServerTest() {
    server_.reset();
    rmdir(directory_.c_str());
  }

  absl::Status Start() {
    auto server = AdminServer::Start(path_, {.jobs = &jobs_,
                                             .control = &control_,
                                             .daemon =
                                                 [] {
                                                   DaemonInfo info;
                                                   info.version = "9.9";
                                                   info.memory_limit = 1 << 30;
                                                   return info;
                                                 },
                                             .cache = ResnetCache,
                                             .disk_tier = ResnetDiskTier,
                                             .clock = &clock_});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  std::unique_ptr<proto::Admin::Stub> Stub() const {
    return proto::Admin::NewStub(grpc::CreateChannel(
        "unix:" + path_, grpc::InsecureChannelCredentials()));
  }

  int Connect() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
        0) {
      return fd;
    }
    close(fd);
    return -1;
  }

  std::string directory_;
  std::string path_;
  base::FakeClock clock_;
  FakeIntrospection jobs_;
  FakeControl control_;
  std::unique_ptr<AdminServer> server_;
};

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server answers with the status and the jobs",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  const auto stub = Stub();
  grpc::ClientContext status_context;
  proto::DaemonStatus status;
  REQUIRE_THAT(stub->GetStatus(&status_context, {}, &status), IsOk());
  CHECK(status.version() == "9.9");
  CHECK(status.jobs() == 1);
  CHECK(status.pid() == getpid());
  grpc::ClientContext jobs_context;
  proto::JobList list;
  REQUIRE_THAT(stub->ListJobs(&jobs_context, {}, &list), IsOk());
  CHECK(list.taken_at_nanos() == 42);
  CHECK(list.jobs(0).name() == "resnet");
  CHECK(list.jobs(0).traffic().memory().reads() == 6000);
  grpc::ClientContext cache_context;
  proto::CacheStatus cache;
  REQUIRE_THAT(stub->GetCache(&cache_context, {}, &cache), IsOk());
  CHECK(cache.taken_at_nanos() == 42);
  CHECK(cache.entries() == 4000);
  CHECK(cache.jobs(0).name() == "resnet");
  CHECK(cache.disk().entries() == 5'000'000);
}

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server's peek streams the batch in chunks",
                 "[admin][admin_server]") {
  job::PeekedBatch batch;
  AddField("image", proto::FieldKind::kImage, proto::DType::kUint8,
           {3, 3, 500, 500}, &batch.slot);
  std::uint8_t* data = FieldData(&batch.slot, 0);
  for (std::size_t i = 0; i < 3 * 3 * 500 * 500; ++i) data[i] = i * 7 % 251;
  batch.pipeline.add_ops()->mutable_resize()->set_height(500);
  batch.classes = {"cat", "d\xffg"};
  jobs_.SetBatch(batch);
  REQUIRE_THAT(Start(), IsOk());

  grpc::ClientContext context;
  proto::PeekRequest request;
  request.set_job("slurm-17");
  const auto reader = Stub()->Peek(&context, request);
  proto::PeekChunk chunk;
  REQUIRE(reader->Read(&chunk));
  CHECK(chunk.total_bytes() == 3 * 3 * 500 * 500);
  CHECK(chunk.pipeline().ops(0).resize().height() == 500);
  REQUIRE(chunk.classes_size() == 2);
  CHECK(chunk.classes(1) == "d\xffg");
  std::string received;
  while (reader->Read(&chunk)) {
    CHECK(chunk.data().size() <= 1u << 20);
    CHECK(chunk.fields_size() == 0);
    received += chunk.data();
  }
  CHECK_THAT(reader->Finish(), IsOk());
  CHECK(received ==
        std::string(reinterpret_cast<char*>(data), 3 * 3 * 500 * 500));
}

TEST_CASE_METHOD(AdminServerTest, "The admin server sets a job's weight",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  const auto set = [&](const std::string& job, std::optional<double> weight) {
    grpc::ClientContext context;
    proto::SetJobRequest request;
    request.set_job(job);
    if (weight.has_value()) request.set_weight(*weight);
    proto::SetJobResponse response;
    return Stub()->SetJob(&context, request, &response);
  };
  CHECK_THAT(set("resnet", std::nullopt), IsOk());
  UNSCOPED_INFO("none was given");
  CHECK(control_.change().weight == std::nullopt);
  CHECK_THAT(set("resnet", 2.5), IsOk());
  CHECK(control_.change().weight == 2.5);
  CHECK(set("bert", 1).error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(set(std::string(257, 'x'), 1).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE_METHOD(AdminServerTest,
                 "Errors of the admin server's peek reach the client",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  const auto peek = [&](const std::string& job) {
    grpc::ClientContext context;
    proto::PeekRequest request;
    request.set_job(job);
    const auto reader = Stub()->Peek(&context, request);
    proto::PeekChunk chunk;
    while (reader->Read(&chunk)) {
    }
    return reader->Finish();
  };
  CHECK(peek("bert").error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(peek("bert").error_message() ==
        "there is no such job; there is: resnet");
  // The fake has no batch for "resnet", so the slot is empty.
  CHECK(peek("resnet").error_code() == grpc::StatusCode::INTERNAL);
  CHECK(peek(std::string(257, 'x')).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(peek(std::string(100'000, 'x')).error_code() ==
        grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server's socket is for its owner alone",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  struct stat status;
  REQUIRE(stat(path_.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  server_.reset();
  CHECK(stat(path_.c_str(), &status) != 0);
}

TEST_CASE_METHOD(AdminServerTest, "The admin server replaces a stale socket",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  server_.reset();
  REQUIRE(mknod(path_.c_str(), S_IFSOCK | 0600, 0) == 0);
  REQUIRE_THAT(Start(), IsOk());
  CHECK(Connect() >= 0);
}

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server refuses a directory that others may enter",
                 "[admin][admin_server]") {
  REQUIRE(chmod(directory_.c_str(), 0755) == 0);
  const absl::Status status = Start();
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(status.message(), Contains(directory_));
}

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server refuses a socket path that is too long",
                 "[admin][admin_server]") {
  path_ = directory_ + "/" + std::string(200, 'x');
  CHECK_THAT(Start(), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(AdminServerTest, "The admin server refuses other users",
                 "[admin][admin_server]") {
  if (getuid() != 0) SKIP("only root can become another user");
  REQUIRE_THAT(Start(), IsOk());
  // The file modes let everybody connect, so that only the check of the peer's
  // uid can refuse.
  REQUIRE(chmod(directory_.c_str(), 0755) == 0);
  REQUIRE(chmod(path_.c_str(), 0666) == 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(10);
    const int fd = Connect();
    if (fd < 0) _exit(11);
    // A refused peer reads the end of the connection. An accepted one would
    // read the settings of gRPC's server.
    char byte;
    const ssize_t bytes = read(fd, &byte, 1);
    _exit(bytes == 0 || (bytes < 0 && errno == ECONNRESET) ? 0 : 12);
  }
  int result = 0;
  REQUIRE(waitpid(child, &result, 0) == child);
  CHECK(WIFEXITED(result));
  CHECK(WEXITSTATUS(result) == 0);
  // A client of the server's own user is still served.
  grpc::ClientContext context;
  proto::DaemonStatus status;
  CHECK_THAT(Stub()->GetStatus(&context, {}, &status), IsOk());
}

TEST_CASE_METHOD(AdminServerTest,
                 "Garbage that the admin server gets harms nobody",
                 "[admin][admin_server]") {
  REQUIRE_THAT(Start(), IsOk());
  const int fd = Connect();
  REQUIRE(fd >= 0);
  const std::string garbage(1 << 16, '\x17');
  send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  grpc::ClientContext context;
  proto::DaemonStatus status;
  CHECK_THAT(Stub()->GetStatus(&context, {}, &status), IsOk());
  close(fd);
}

TEST_CASE_METHOD(AdminServerTest,
                 "The admin server stops while clients hold on",
                 "[admin][admin_server]") {
  job::PeekedBatch batch;
  AddField("image", proto::FieldKind::kImage, proto::DType::kUint8,
           {16, 3, 1000, 1000}, &batch.slot);
  jobs_.SetBatch(batch);
  REQUIRE_THAT(Start(), IsOk());
  grpc::ClientContext context;
  proto::PeekRequest request;
  request.set_job("resnet");
  const auto stub = Stub();
  const auto reader = stub->Peek(&context, request);
  proto::PeekChunk chunk;
  REQUIRE(reader->Read(&chunk));
  // The client reads nothing before the server ends, and the server must not
  // wait for it.
  server_.reset();
  while (reader->Read(&chunk)) {
  }
  CHECK_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace forebay::admin
