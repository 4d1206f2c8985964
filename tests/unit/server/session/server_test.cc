#include "server/session/server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "proto/shm_ring.h"
#include "server/base/clock.h"
#include "server/base/event_loop.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/executor/thread_pool_executor.h"
#include "server/job/registry.h"
#include "server/pipeline/workspace.h"
#include "server/storage/local/local_source.h"
#include "server/storage/root_opener.h"
#include "tests/unit/server/session/client_process.h"
#include "tests/unit/server/session/raw_client.h"

namespace forebay::session {
namespace {

constexpr char kPhotograph[] = "tests/golden/decode/420.jpg";
constexpr int kSamples = 200;
constexpr int kWorkers = 2;

// As long as it takes: the test's own limit ends a hang.
void Until(const std::function<bool()>& condition) {
  while (!condition()) sched_yield();
}

// Knows of no place.
class Nowhere final : public storage::RootOpener {
 public:
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri, const std::stop_token&) override {
    return absl::NotFoundError(uri + ": is nowhere");
  }
};

// A clock at which a test can hold those that ask for the time: a scan, when
// it begins, and an epoch, when it starts.
class Gate final : public base::Clock {
 public:
  std::int64_t NowNanos() const override {
    base::MutexLock lock(&mutex_);
    if (to_hold_ > 0) {
      --to_hold_;
      ++held_;
      changed_.NotifyAll();
      while (held_ > 0) changed_.Wait(&mutex_);
    }
    return base::Clock::Monotonic()->NowNanos();
  }

  // Holds the next so many.
  void Hold(int count) {
    base::MutexLock lock(&mutex_);
    to_hold_ = count;
  }
  void AwaitHeld(int count) {
    base::MutexLock lock(&mutex_);
    while (held_ < count) changed_.Wait(&mutex_);
  }
  void Open() {
    base::MutexLock lock(&mutex_);
    to_hold_ = 0;
    held_ = 0;
    changed_.NotifyAll();
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  mutable int to_hold_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::vector<std::filesystem::path> Descriptors() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    found.push_back(entry.path());
  }
  return found;
}

// A server, and all that it needs.
class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/forebay-session.XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
    socket_ = directory_ + "/s";
  }

  // To be called when all processes have been forked.
  void StartServer() {
    for (int i = 0; i < kWorkers; ++i) {
      workspaces_.push_back(std::make_unique<pipeline::Workspace>(
          pipeline::WorkspaceLimits{.scratch_bytes = 1 << 24}));
    }
    executor_.emplace(kWorkers);
    source_.emplace();
    registry_.emplace(
        &catalog_,
        stream::Machinery{.source = &*source_,
                          .executor = &*executor_,
                          .workspaces = &workspaces_,
                          .budget = &budget_,
                          .clock = &start_gate_,
                          .on_changed = [](const dataset::Dataset&) {}});
    auto loop = base::EventLoop::Create();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
    FindEpoll();
    auto server = Server::Create(socket_, loop_.get(), &*registry_, &nowhere_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    running_ = std::thread([this] { loop_->Run(); });
    descriptors_before_ = Descriptors().size();
  }

  void TearDown() override {
    scan_gate_.Open();
    start_gate_.Open();
    if (server_ != nullptr) {
      loop_->Stop();
      running_.join();
      server_.reset();
    }
    std::filesystem::remove_all(directory_);
  }

  // A new dataset.
  std::string Folder(const std::string& name) const {
    std::string folder = directory_ + "/" + name;
    std::filesystem::create_directories(folder + "/class");
    for (int i = 0; i < kSamples; ++i) {
      std::filesystem::copy_file(
          kPhotograph, folder + "/class/" + std::to_string(i) + ".jpg");
    }
    return folder;
  }

  // Waits until the loop has nothing to do. A loop that spins always has.
  void AwaitIdleLoop() {
    struct pollfd ready = {.fd = epoll_, .events = POLLIN, .revents = 0};
    Until([&] { return poll(&ready, 1, 0) == 0; });
    std::promise<void> done;  // with what it does now
    loop_->Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  // Waits until all that clients had is gone.
  void AwaitNothingLeft() {
    Until([&] { return server_->sessions() == 0; });
    Until([&] { return Descriptors().size() == descriptors_before_; });
    Until([&] { return budget_.used() == 0; });
    EXPECT_TRUE(registry_->Snapshot().empty());
  }

  std::string directory_;
  std::string socket_;
  std::size_t descriptors_before_ = 0;
  int epoll_ = -1;  // the loop's

  Gate scan_gate_;
  Gate start_gate_;
  base::MemoryBudget budget_{std::uint64_t{256} << 20};
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  dataset::Catalog catalog_{
      {.index_directory = "", .scan_threads = 2, .wall_clock = [this] {
         return scan_gate_.NowNanos();
       }}};
  std::unique_ptr<base::EventLoop> loop_;
  std::optional<executor::ThreadPoolExecutor> executor_;
  std::optional<storage::local::LocalSource> source_;
  std::optional<job::Registry> registry_;
  Nowhere nowhere_;
  std::unique_ptr<Server> server_;
  std::thread running_;

 private:
  void FindEpoll() {
    for (const std::filesystem::path& path : Descriptors()) {
      std::error_code gone;
      if (std::filesystem::read_symlink(path, gone) ==
          "anon_inode:[eventpoll]") {
        epoll_ = std::stoi(path.filename());
      }
    }
    ASSERT_GE(epoll_, 0);
  }
};

TEST_F(ServerTest, AnswersInTheOrderOfTheRequests) {
  const std::string folder = Folder("data");
  StartServer();
  {
    RawClient client(socket_);
    client.SendOpen(folder);
    client.SendStart(1);
    client.SendStart(1);
    client.SendGetStats(7);
    const auto opened = client.Receive();
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(opened->loader_opened().loader_id(), 1);
    const auto started = client.Receive();
    ASSERT_TRUE(started.has_value());
    EXPECT_EQ(started->request_id(), opened->request_id() + 1);
    EXPECT_EQ(started->epoch_started().slot_count(), client.fds().size());
    EXPECT_TRUE(client.Receive()->has_error()) << "an epoch is under way";
    const auto unknown = client.Receive();
    EXPECT_EQ(unknown->request_id(), opened->request_id() + 3);
    EXPECT_EQ(unknown->error().message(), "this session has no loader 7");
  }
}

// More scans hang than there are threads for other requests.
TEST_F(ServerTest, AnswersOthersWhileScansHang) {
  constexpr int kSlow = 8;
  std::vector<std::string> folders;
  for (int i = 0; i <= kSlow; ++i) {
    folders.push_back(Folder(std::to_string(i)));
  }
  StartServer();
  scan_gate_.Hold(kSlow);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.push_back(std::make_unique<RawClient>(socket_));
    slow.back()->SendOpen(folders[i]);
  }
  scan_gate_.AwaitHeld(kSlow);

  RawClient other(socket_);
  const auto opened = other.Open(folders[kSlow]);
  EXPECT_EQ(opened.dataset_size(), kSamples);
  EXPECT_TRUE(other.Start(opened.loader_id()).has_epoch_started());
  AwaitIdleLoop();

  scan_gate_.Open();
  for (const std::unique_ptr<RawClient>& client : slow) {
    const auto answer = client->Receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->loader_opened().dataset_size(), kSamples);
  }
}

enum class Slow { kScan, kStart };
enum class Leaving { kHangsUp, kDies, kDiesWhileOthersHoldItsConnection };

class LeavingTest
    : public ServerTest,
      public testing::WithParamInterface<std::tuple<Slow, Leaving>> {};

std::string NameOf(const testing::TestParamInfo<LeavingTest::ParamType>& one) {
  constexpr const char* kSlow[] = {"Scan", "Start"};
  constexpr const char* kLeaving[] = {"HangsUp", "Dies",
                                      "DiesWhileOthersHoldItsConnection"};
  return std::string(kSlow[static_cast<int>(std::get<0>(one.param))]) +
         kLeaving[static_cast<int>(std::get<1>(one.param))];
}

TEST_P(LeavingTest, WhileARequestIsBeingAnsweredLeavesNothing) {
  const auto [slow, leaving] = GetParam();
  const std::string folder = Folder("data");
  auto client = std::make_unique<RawClient>();
  ClientProcess process([&, slow = slow] {
    client->Connect(socket_);
    client->Greet();
    client->SendOpen(folder);
    if (slow == Slow::kStart) {
      client->SendStart(client->Receive()->loader_opened().loader_id());
    }
  });
  StartServer();
  Gate& gate = slow == Slow::kScan ? scan_gate_ : start_gate_;
  gate.Hold(1);
  process.Begin();
  ASSERT_TRUE(process.AwaitDone());
  gate.AwaitHeld(1);

  switch (leaving) {
    case Leaving::kHangsUp:
      client->HangUp();
      break;
    case Leaving::kDies:
      client.reset();
      process.Kill();
      break;
    case Leaving::kDiesWhileOthersHoldItsConnection:
      process.Kill();
      break;
  }
  AwaitIdleLoop();
  EXPECT_EQ(server_->sessions(), 1) << "its request is being answered";
  gate.Open();
  // What an epoch published before it was stopped counts as held.
  if (slow == Slow::kStart && leaving == Leaving::kHangsUp) process.Kill();
  client.reset();
  --descriptors_before_;
  AwaitNothingLeft();
  AwaitIdleLoop();
}

INSTANTIATE_TEST_SUITE_P(
    All, LeavingTest,
    testing::Combine(
        testing::Values(Slow::kScan, Slow::kStart),
        testing::Values(Leaving::kHangsUp, Leaving::kDies,
                        Leaving::kDiesWhileOthersHoldItsConnection)),
    NameOf);

// A trainer that has hung up may still read the batches that it holds.
TEST_F(ServerTest, TakesNothingBackWhileTheProcessLives) {
  const std::string folder = Folder("data");
  RawClient client;
  ClientProcess process([&] {
    client.Connect(socket_);
    client.Greet();
    const auto opened = client.Open(folder);
    void* ring = mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
                      client.fds()[0].get(), 0);
    ASSERT_NE(ring, MAP_FAILED);
    EXPECT_TRUE(client.Start(opened.loader_id()).has_epoch_started());
    Until([&] {
      return static_cast<const proto::ReadyRing*>(ring)->tail.load() > 0;
    });
  });
  StartServer();
  process.Begin();
  ASSERT_TRUE(process.AwaitDone());
  const std::uint64_t used = budget_.used();
  EXPECT_GT(used, 0);

  client.HangUp();
  AwaitIdleLoop();
  EXPECT_EQ(server_->sessions(), 1);
  EXPECT_EQ(budget_.used(), used);

  process.Kill();
  AwaitNothingLeft();
}

}  // namespace
}  // namespace forebay::session
