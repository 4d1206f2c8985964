#include "server/admin/admin_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
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
#include "tests/unit/server/admin/fake_control.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

constexpr uid_t kNobody = 65534;

class AdminServerTest : public testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/forebay-admin-test.XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
    path_ = directory_ + "/admin.sock";
    clock_.Advance(42);
    jobs_.SetJobs({ResnetJob()});
  }

  void TearDown() override {
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

TEST_F(AdminServerTest, AnswersStatusAndJobs) {
  ASSERT_TRUE(Start().ok());
  const auto stub = Stub();
  grpc::ClientContext status_context;
  proto::DaemonStatus status;
  ASSERT_TRUE(stub->GetStatus(&status_context, {}, &status).ok());
  EXPECT_EQ(status.version(), "9.9");
  EXPECT_EQ(status.jobs(), 1);
  EXPECT_EQ(status.pid(), getpid());
  grpc::ClientContext jobs_context;
  proto::JobList list;
  ASSERT_TRUE(stub->ListJobs(&jobs_context, {}, &list).ok());
  EXPECT_EQ(list.taken_at_nanos(), 42);
  EXPECT_EQ(list.jobs(0).name(), "resnet");
  EXPECT_EQ(list.jobs(0).traffic().memory().reads(), 6000);
  grpc::ClientContext cache_context;
  proto::CacheStatus cache;
  ASSERT_TRUE(stub->GetCache(&cache_context, {}, &cache).ok());
  EXPECT_EQ(cache.taken_at_nanos(), 42);
  EXPECT_EQ(cache.entries(), 4000);
  EXPECT_EQ(cache.jobs(0).name(), "resnet");
  EXPECT_EQ(cache.disk().entries(), 5'000'000);
}

TEST_F(AdminServerTest, PeekStreamsTheBatchInChunks) {
  job::PeekedBatch batch;
  AddField("image", proto::FieldKind::kImage, proto::DType::kUint8,
           {3, 3, 500, 500}, &batch.slot);
  std::uint8_t* data = FieldData(&batch.slot, 0);
  for (std::size_t i = 0; i < 3 * 3 * 500 * 500; ++i) data[i] = i * 7 % 251;
  batch.pipeline.add_ops()->mutable_resize()->set_height(500);
  batch.classes = {"cat", "d\xffg"};
  jobs_.SetBatch(batch);
  ASSERT_TRUE(Start().ok());

  grpc::ClientContext context;
  proto::PeekRequest request;
  request.set_job("slurm-17");
  const auto reader = Stub()->Peek(&context, request);
  proto::PeekChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.total_bytes(), 3 * 3 * 500 * 500);
  EXPECT_EQ(chunk.pipeline().ops(0).resize().height(), 500);
  ASSERT_EQ(chunk.classes_size(), 2);
  EXPECT_EQ(chunk.classes(1), "d\xffg");
  std::string received;
  while (reader->Read(&chunk)) {
    EXPECT_LE(chunk.data().size(), 1u << 20);
    EXPECT_EQ(chunk.fields_size(), 0);
    received += chunk.data();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(received,
            std::string(reinterpret_cast<char*>(data), 3 * 3 * 500 * 500));
}

TEST_F(AdminServerTest, SetsAWeight) {
  ASSERT_TRUE(Start().ok());
  const auto set = [&](const std::string& job, std::optional<double> weight) {
    grpc::ClientContext context;
    proto::SetJobRequest request;
    request.set_job(job);
    if (weight.has_value()) request.set_weight(*weight);
    proto::SetJobResponse response;
    return Stub()->SetJob(&context, request, &response);
  };
  EXPECT_TRUE(set("resnet", std::nullopt).ok());
  EXPECT_EQ(control_.change().weight, std::nullopt) << "none was given";
  EXPECT_TRUE(set("resnet", 2.5).ok());
  EXPECT_EQ(control_.change().weight, 2.5);
  EXPECT_EQ(set("bert", 1).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(set(std::string(257, 'x'), 1).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminServerTest, PeekErrorsReachTheClient) {
  ASSERT_TRUE(Start().ok());
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
  EXPECT_EQ(peek("bert").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(peek("bert").error_message(),
            "there is no such job; there is: resnet");
  // The fake's slot is empty here.
  EXPECT_EQ(peek("resnet").error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(peek(std::string(257, 'x')).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(peek(std::string(100'000, 'x')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(AdminServerTest, SocketIsForItsOwnerAlone) {
  ASSERT_TRUE(Start().ok());
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600);
  server_.reset();
  EXPECT_NE(stat(path_.c_str(), &status), 0);
}

TEST_F(AdminServerTest, ReplacesAStaleSocket) {
  ASSERT_TRUE(Start().ok());
  server_.reset();
  ASSERT_EQ(mknod(path_.c_str(), S_IFSOCK | 0600, 0), 0);
  ASSERT_TRUE(Start().ok());
  EXPECT_GE(Connect(), 0);
}

TEST_F(AdminServerTest, RefusesADirectoryThatOthersMayEnter) {
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const absl::Status status = Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(status.message()).find(directory_), std::string::npos);
}

TEST_F(AdminServerTest, RefusesAPathThatIsTooLong) {
  path_ = directory_ + "/" + std::string(200, 'x');
  EXPECT_EQ(Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AdminServerTest, RefusesOtherUsers) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_TRUE(Start().ok());
  // Let the kernel's own checks pass, so that the peer's uid alone decides.
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(10);
    const int fd = Connect();
    if (fd < 0) _exit(11);
    // gRPC's server would send its settings; a refused peer sees the end.
    char byte;
    const ssize_t bytes = read(fd, &byte, 1);
    _exit(bytes == 0 || (bytes < 0 && errno == ECONNRESET) ? 0 : 12);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
  // Its own user is served as before.
  grpc::ClientContext context;
  proto::DaemonStatus status;
  EXPECT_TRUE(Stub()->GetStatus(&context, {}, &status).ok());
}

TEST_F(AdminServerTest, GarbageHarmsNobody) {
  ASSERT_TRUE(Start().ok());
  const int fd = Connect();
  ASSERT_GE(fd, 0);
  const std::string garbage(1 << 16, '\x17');
  send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  grpc::ClientContext context;
  proto::DaemonStatus status;
  EXPECT_TRUE(Stub()->GetStatus(&context, {}, &status).ok());
  close(fd);
}

TEST_F(AdminServerTest, StopsWhileClientsHoldOn) {
  job::PeekedBatch batch;
  AddField("image", proto::FieldKind::kImage, proto::DType::kUint8,
           {16, 3, 1000, 1000}, &batch.slot);
  jobs_.SetBatch(batch);
  ASSERT_TRUE(Start().ok());
  grpc::ClientContext context;
  proto::PeekRequest request;
  request.set_job("resnet");
  const auto stub = Stub();
  const auto reader = stub->Peek(&context, request);
  proto::PeekChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  // The client reads no further, and the server must not wait for it.
  server_.reset();
  while (reader->Read(&chunk)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace forebay::admin
