#include "server/daemon/daemon.h"

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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/session/raw_client.h"

namespace forebay::daemon {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr char kPhotograph[] = "tests/golden/decode/420.jpg";

using Client = session::RawClient;

class DaemonTest {
 protected:
  DaemonTest() {
    // The real program also starts its log before it starts any thread.
    static const absl::Status log = base::StartLog("info");
    REQUIRE_THAT(log, IsOk());
    char directory[] = "/tmp/forebay-daemon.XXXXXX";
    REQUIRE(mkdtemp(directory) != nullptr);
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
    REQUIRE_THAT(runtime_dir, IsOk());
    socket_ = runtime_dir->SessionSocket();
    auto daemon = Daemon::Create(config, "", *std::move(runtime_dir));
    REQUIRE_THAT(daemon, IsOk());
    daemon_ = *std::move(daemon);
    running_ = std::jthread([this] { daemon_->Run(); });
  }
  ~DaemonTest() {
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
  std::jthread running_;
};

TEST_CASE_METHOD(DaemonTest, "The daemon serves an epoch to a client",
                 "[daemon]") {
  Client client(socket_);
  const auto opened = client.Open(folder_);
  CHECK(opened.dataset_size() == 200);
  CHECK(opened.batches_per_epoch() == 50);
  CHECK(opened.classes().names(0) == "class");
  const auto started = client.Start(opened.loader_id());
  CHECK(started.epoch_started().slot_count() > 0);
  UNSCOPED_INFO("an epoch is under way");
  CHECK(client.Start(opened.loader_id()).has_error());
}

// Reads, tasks and releases are in progress when the daemon ends. The test is
// whether a sanitizer reports an error.
TEST_CASE_METHOD(DaemonTest, "The daemon shuts down in the middle of epochs",
                 "[daemon]") {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(socket_));
    const auto opened = clients.back()->Open(folder_);
    CHECK(clients.back()->Start(opened.loader_id()).has_epoch_started());
  }
  clients.pop_back();  // the client's process lives on
  StopDaemon();
}

TEST_CASE_METHOD(DaemonTest,
                 "The daemon shuts down while a request is being answered",
                 "[daemon]") {
  Client client(socket_);
  client.SendOpen(folder_);
  StopDaemon();
}

TEST_CASE_METHOD(DaemonTest, "The daemon shuts down in the middle of a scan",
                 "[daemon]") {
  // Each directory has two links to the next, which makes millions of paths.
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
  REQUIRE(inotify_add_watch(inotify.get(), (folder + "/9").c_str(), IN_OPEN) >=
          0);
  Client client(socket_);
  client.SendOpen(folder);
  struct pollfd opened = {.fd = inotify.get(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&opened, 1, -1) == 1);
  StopDaemon();
  const auto answer = client.Receive();
  REQUIRE(answer.has_value());
  CHECK(answer->error().code() ==
        static_cast<std::uint32_t>(absl::StatusCode::kCancelled));
  CHECK(answer->error().message() ==
        folder + ": was not scanned to the end: the daemon is shutting down");
}

TEST_CASE_METHOD(DaemonTest,
                 "The daemon lets another have its place once it has left",
                 "[daemon]") {
  const std::string path = directory_ + "/run";
  CHECK_THAT(RuntimeDir::Open(path), HasCode(absl::StatusCode::kAlreadyExists));
  StopDaemon();
  CHECK_FALSE(std::filesystem::exists(socket_));
  CHECK_THAT(RuntimeDir::Open(path), IsOk());
}

}  // namespace
}  // namespace forebay::daemon
