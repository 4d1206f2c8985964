#include "tests/unit/server/session/server_fixture.h"

#include <poll.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "tests/catch/matchers.h"

namespace forebay::session {
namespace {

using tests::IsOk;

constexpr char kPhotograph[] = "tests/golden/decode/420.jpg";
constexpr int kCpus = 2;

std::vector<std::filesystem::path> Descriptors() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    found.push_back(entry.path());
  }
  return found;
}

}  // namespace

void Until(const std::function<bool()>& condition) {
  while (!condition()) sched_yield();
}

std::int64_t Gate::NowNanos() const {
  base::MutexLock lock(&mutex_);
  if (to_hold_ > 0) {
    --to_hold_;
    ++held_;
    changed_.NotifyAll();
    while (held_ > 0) changed_.Wait(&mutex_);
  }
  return base::Clock::Monotonic()->NowNanos();
}

void Gate::Hold(int count) {
  base::MutexLock lock(&mutex_);
  to_hold_ = count;
}

void Gate::AwaitHeld(int count) {
  base::MutexLock lock(&mutex_);
  while (held_ < count) changed_.Wait(&mutex_);
}

void Gate::Open() {
  base::MutexLock lock(&mutex_);
  to_hold_ = 0;
  held_ = 0;
  changed_.NotifyAll();
}

ServerTest::ServerTest() {
  char directory[] = "/tmp/forebay-session.XXXXXX";
  REQUIRE(mkdtemp(directory) != nullptr);
  directory_ = directory;
  socket_ = directory_ + "/s";
}

ServerTest::~ServerTest() {
  scan_gate_.Open();
  start_gate_.Open();
  if (server_ != nullptr) {
    loop_->Stop();
    if (running_.joinable()) running_.join();
    server_.reset();
  }
  std::filesystem::remove_all(directory_);
}

void ServerTest::StartServer() {
  executor_.emplace(kCpus);
  for (int i = 0; i < executor_->places(); ++i) {
    workspaces_.push_back(std::make_unique<pipeline::Workspace>(
        pipeline::WorkspaceLimits{.scratch_bytes = 1 << 24}));
  }
  source_.emplace();
  registry_.emplace(
      &catalog_,
      stream::StreamDeps{.source = &*source_,
                         .executor = &*executor_,
                         .workspaces = &workspaces_,
                         .budget = &budget_,
                         .clock = &start_gate_,
                         .on_changed = [](const dataset::Dataset&) {}},
      job::Registry::Shares{.reads = &unshared_, .cpus = &*executor_});
  auto loop = base::EventLoop::Create();
  REQUIRE_THAT(loop, IsOk());
  loop_ = *std::move(loop);
  FindEpoll();
  auto server =
      Server::Create(socket_, loop_.get(), &*registry_, &nowhere_, &clock_);
  REQUIRE_THAT(server, IsOk());
  server_ = *std::move(server);
  running_ = std::jthread([this] { loop_->Run(); });
  descriptors_before_ = Descriptors().size();
}

std::string ServerTest::Folder(const std::string& name) const {
  std::string folder = directory_ + "/" + name;
  std::filesystem::create_directories(folder + "/class");
  for (int i = 0; i < kSamples; ++i) {
    std::filesystem::copy_file(kPhotograph,
                               folder + "/class/" + std::to_string(i) + ".jpg");
  }
  return folder;
}

void ServerTest::OnLoop(const std::function<void()>& act) {
  std::promise<void> done;
  loop_->Post([&] {
    act();
    done.set_value();
  });
  done.get_future().wait();
}

void ServerTest::AwaitIdleLoop() {
  struct pollfd ready = {.fd = epoll_, .events = POLLIN, .revents = 0};
  Until([&] { return poll(&ready, 1, 0) == 0; });
  OnLoop([] {});  // waits for what the loop does now
}

void ServerTest::PassTime(std::int64_t nanos) {
  clock_.Advance(nanos);
  OnLoop([&] { server_->Tick(); });
}

stream::StreamSnapshot ServerTest::StreamState() const {
  return registry_->Snapshot().at(0).loaders.at(0).stream;
}

void ServerTest::AwaitNothingLeft() {
  Until([&] { return server_->sessions() == 0; });
  Until([&] { return Descriptors().size() == descriptors_before_; });
  Until([&] { return budget_.used() == 0; });
  CHECK(registry_->Snapshot().empty());
}

void ServerTest::FindEpoll() {
  for (const std::filesystem::path& path : Descriptors()) {
    std::error_code gone;
    if (std::filesystem::read_symlink(path, gone) == "anon_inode:[eventpoll]") {
      epoll_ = std::stoi(path.filename());
    }
  }
  REQUIRE(epoll_ >= 0);
}

}  // namespace forebay::session
