#include "server/daemon/daemon.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "server/base/log.h"
#include "tests/unit/server/session/raw_client.h"

namespace forebay::daemon {
namespace {

constexpr char kPhotograph[] = "tests/golden/decode/420.jpg";

using Client = session::RawClient;

class DaemonTest : public ::testing::Test {
 protected:
  // As the program does, before any thread starts.
  static void SetUpTestSuite() { ASSERT_TRUE(base::StartLog("info").ok()); }

  void SetUp() override {
    char directory[] = "/tmp/forebay-daemon.XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
    folder_ = directory_ + "/data";
    std::filesystem::create_directories(folder_ + "/class");
    for (int i = 0; i < 200; ++i) {
      std::filesystem::copy_file(
          kPhotograph, folder_ + "/class/" + std::to_string(i) + ".jpg");
    }
    proto::Config config;
    config.mutable_index()->set_directory(directory_ + "/index");
    auto runtime_dir = RuntimeDir::Open(directory_ + "/run");
    ASSERT_TRUE(runtime_dir.ok()) << runtime_dir.status();
    socket_ = runtime_dir->SessionSocket();
    auto daemon = Daemon::Create(config, "", *std::move(runtime_dir));
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    running_ = std::thread([this] { daemon_->Run(); });
  }
  void TearDown() override {
    if (daemon_ != nullptr) StopDaemon();
    std::filesystem::remove_all(directory_);
  }

  void StopDaemon() {
    daemon_->Stop();
    running_.join();
    daemon_.reset();
  }

  std::string directory_;
  std::string folder_;
  std::string socket_;
  std::unique_ptr<Daemon> daemon_;
  std::thread running_;
};

TEST_F(DaemonTest, ServesAnEpoch) {
  Client client(socket_);
  const auto opened = client.Open(folder_);
  EXPECT_EQ(opened.dataset_size(), 200);
  EXPECT_EQ(opened.batches_per_epoch(), 50);
  EXPECT_EQ(opened.classes().names(0), "class");
  const auto started = client.Start(opened.loader_id());
  EXPECT_GT(started.epoch_started().slot_count(), 0);
  EXPECT_TRUE(client.Start(opened.loader_id()).has_error())
      << "an epoch is under way";
}

// Reads, tasks and releases are under way when everything goes: what a
// sanitizer makes of it is the test.
TEST_F(DaemonTest, LeavesInTheMiddleOfEpochs) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(socket_));
    const auto opened = clients.back()->Open(folder_);
    EXPECT_TRUE(clients.back()->Start(opened.loader_id()).has_epoch_started());
  }
  clients.pop_back();  // hung up, its process alive
  StopDaemon();
}

TEST_F(DaemonTest, LeavesWhileARequestIsBeingAnswered) {
  Client client(socket_);
  client.SendOpen(folder_);
  StopDaemon();
}

TEST_F(DaemonTest, LeavesInTheMiddleOfAScan) {
  // Each directory has two links to the next: millions of paths.
  constexpr int kLevels = 21;
  const std::string folder = directory_ + "/endless";
  for (int level = 0; level < kLevels; ++level) {
    const std::string path = folder + "/" + std::to_string(level);
    std::filesystem::create_directories(path);
    for (const char* name : {"/a", "/b"}) {
      std::filesystem::create_directory_symlink(
          "../" + std::to_string(level + 1), path + name);
    }
  }
  const base::Fd inotify(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(inotify.get(), (folder + "/9").c_str(), IN_OPEN),
            0);
  Client client(socket_);
  client.SendOpen(folder);
  struct pollfd opened = {.fd = inotify.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&opened, 1, -1), 1);
  StopDaemon();
  const auto answer = client.Receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code(),
            static_cast<std::uint32_t>(absl::StatusCode::kCancelled));
  EXPECT_EQ(
      answer->error().message(),
      folder + ": was not scanned to the end: the daemon is shutting down");
}

TEST_F(DaemonTest, LetsAnotherHaveItsPlaceOnceItHasLeft) {
  const std::string path = directory_ + "/run";
  EXPECT_TRUE(absl::IsAlreadyExists(RuntimeDir::Open(path).status()));
  StopDaemon();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  EXPECT_TRUE(RuntimeDir::Open(path).ok());
}

}  // namespace
}  // namespace forebay::daemon
