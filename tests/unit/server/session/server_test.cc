#include "server/session/server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "proto/shm_ring.h"
#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/suite.h"
#include "tests/unit/server/session/client_process.h"
#include "tests/unit/server/session/raw_client.h"
#include "tests/unit/server/session/server_fixture.h"

namespace forebay::session {
namespace {

using tests::Contains;
using tests::EndsWith;

TEST_CASE_METHOD(ServerTest,
                 "The server answers a client in the order of the requests",
                 "[session][server]") {
  const std::string folder = Folder("data");
  StartServer();
  {
    RawClient client(socket_);
    client.SendOpen(folder);
    client.SendStart(1);
    client.SendStart(1);
    client.SendGetStats(7);
    const auto opened = client.Receive();
    REQUIRE(opened.has_value());
    CHECK(opened->loader_opened().loader_id() == 1);
    const auto started = client.Receive();
    REQUIRE(started.has_value());
    CHECK(started->request_id() == opened->request_id() + 1);
    CHECK(started->epoch_started().slot_count() == client.fds().size());
    UNSCOPED_INFO("an epoch is under way");
    CHECK(client.Receive()->has_error());
    const auto unknown = client.Receive();
    CHECK(unknown->request_id() == opened->request_id() + 3);
    CHECK(unknown->error().message() == "this session has no loader 7");
  }
}

// There are more hanging scans than threads for other requests.
TEST_CASE_METHOD(ServerTest, "The server answers others while scans hang",
                 "[session][server]") {
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
  CHECK(opened.dataset_size() == kSamples);
  CHECK(other.Start(opened.loader_id()).has_epoch_started());
  AwaitIdleLoop();

  scan_gate_.Open();
  for (const std::unique_ptr<RawClient>& client : slow) {
    const auto answer = client->Receive();
    REQUIRE(answer.has_value());
    CHECK(answer->loader_opened().dataset_size() == kSamples);
  }
}

enum class Slow { kScan, kStart };
enum class Leaving { kHangsUp, kDies, kDiesWhileOthersHoldItsConnection };

class LeavingTest : public ServerTest {
 public:
  struct Subject {
    Slow slow;
    Leaving leaving;
  };

  explicit LeavingTest(const Subject& subject) : subject_(subject) {}

 protected:
  const Subject subject_;
};

SUITE_CASE(LeavingTest,
           "A client that leaves while its request is being answered leaves "
           "nothing behind",
           "[session][server]") {
  const auto [slow, leaving] = subject_;
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
  REQUIRE(process.AwaitDone());
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
  if (slow == Slow::kStart && leaving == Leaving::kHangsUp) {
    AwaitIdleLoop();
    UNSCOPED_INFO("its process may read batches");
    CHECK(server_->sessions() == 1);
  } else {
    Until([&] { return server_->sessions() == 0; });
    Until([&] { return registry_->Snapshot().empty(); });
  }
  gate.Open();
  // While the process lives, the batches that the epoch published before its
  // stop count as held.
  if (slow == Slow::kStart && leaving == Leaving::kHangsUp) process.Kill();
  client.reset();
  --descriptors_before_;
  AwaitNothingLeft();
  AwaitIdleLoop();
}

const tests::RunsOn<LeavingTest> kWaysToLeave(
    {{"hangs up during a scan", {Slow::kScan, Leaving::kHangsUp}},
     {"dies during a scan", {Slow::kScan, Leaving::kDies}},
     {"dies during a scan while others hold its connection",
      {Slow::kScan, Leaving::kDiesWhileOthersHoldItsConnection}},
     {"hangs up during a start", {Slow::kStart, Leaving::kHangsUp}},
     {"dies during a start", {Slow::kStart, Leaving::kDies}},
     {"dies during a start while others hold its connection",
      {Slow::kStart, Leaving::kDiesWhileOthersHoldItsConnection}}});

TEST_CASE_METHOD(ServerTest, "The server shows what a job waits for",
                 "[session][server]") {
  const std::string folder = Folder("data");
  StartServer();
  clock_.Advance(7);
  scan_gate_.Hold(1);
  RawClient client(socket_);
  client.SendOpen(folder);
  scan_gate_.AwaitHeld(1);
  const std::vector<job::JobSnapshot> jobs = registry_->Snapshot();
  REQUIRE(jobs.size() == 1);
  REQUIRE(jobs[0].pending.size() == 1);
  const job::PendingRequest& pending = jobs[0].pending[0];
  CHECK(pending.kind == job::PendingRequest::Kind::kOpening);
  CHECK(pending.uri == folder);
  CHECK_THAT(pending.host, Catch::Equals(""));
  CHECK(pending.since_nanos == 7);

  scan_gate_.Open();
  CHECK(client.Receive()->has_loader_opened());
  CHECK(registry_->Snapshot().at(0).pending.empty());
}

TEST_CASE_METHOD(
    ServerTest,
    "A client that leaves gives back what its hung request does not use",
    "[session][server]") {
  const std::string folder = Folder("data");
  const std::string hung = Folder("hung");
  StartServer();
  {
    RawClient client(socket_);
    client.Open(folder);
    scan_gate_.Hold(1);
    client.SendOpen(hung);
    scan_gate_.AwaitHeld(1);
    CHECK(budget_.used() > 0);
  }
  Until([&] { return server_->sessions() == 0; });
  CHECK(registry_->Snapshot().empty());
  Until([&] { return budget_.used() == 0; });
  scan_gate_.Open();
  AwaitNothingLeft();
}

TEST_CASE_METHOD(ServerTest, "The server shuts down although a request hangs",
                 "[session][server]") {
  const std::string folder = Folder("data");
  StartServer();
  scan_gate_.Hold(1);
  RawClient client(socket_);
  client.SendOpen(folder);
  scan_gate_.AwaitHeld(1);
  loop_->Stop();
  running_.join();
  const std::vector<std::string> hung =
      server_->Leave(std::chrono::nanoseconds(0));
  // The list may also contain the greeting, because its thread may have
  // answered but not ended.
  CHECK_THAT(hung, Contains(EndsWith(folder)));
  const auto answer = client.Receive();
  REQUIRE(answer.has_value());
  CHECK(answer->error().message() == "the daemon is shutting down");
  CHECK_FALSE(client.Receive().has_value());
  CHECK(registry_->Snapshot().empty());
  scan_gate_.Open();
}

// A trainer that has hung up may still read the batches that it holds.
TEST_CASE_METHOD(
    ServerTest,
    "The server takes no leased batches back while the client's process lives",
    "[session][server]") {
  const std::string folder = Folder("data");
  RawClient client;
  ClientProcess process([&] {
    client.Connect(socket_);
    client.Greet();
    const auto opened = client.Open(folder);
    void* ring = mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
                      client.fds()[0].get(), 0);
    REQUIRE(ring != MAP_FAILED);
    CHECK(client.Start(opened.loader_id()).has_epoch_started());
    Until([&] {
      return static_cast<const proto::ReadyRing*>(ring)->tail.load() > 0;
    });
  });
  StartServer();
  process.Begin();
  REQUIRE(process.AwaitDone());
  const std::uint64_t used = budget_.used();
  CHECK(used > 0);

  client.HangUp();
  // Everything of the loader is released except the leased batches.
  Until([&] { return budget_.used() < used; });
  AwaitIdleLoop();
  CHECK(server_->sessions() == 1);
  CHECK(StreamState().leases > 0);

  process.Kill();
  AwaitNothingLeft();
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE_METHOD(ServerTest,
                 "The server hangs up on a client that does not greet in time",
                 "[session][server]") {
  StartServer();
  RawClient silent;
  silent.Connect(socket_);
  const RawClient greeted(socket_);
  Until([&] { return server_->sessions() == 2; });
  PassTime(9 * kSecond);
  CHECK(server_->sessions() == 2);

  PassTime(kSecond);
  const auto answer = silent.Receive();
  REQUIRE(answer.has_value());
  CHECK(answer->error().message() == "no greeting came within 10 s");
  CHECK_FALSE(silent.Receive().has_value());
  CHECK(server_->sessions() == 1);
}

// The loop may not have had time to read a greeting that came in time.
TEST_CASE_METHOD(
    ServerTest,
    "A greeting that has come in time counts though the server reads it late",
    "[session][server]") {
  StartServer();
  RawClient client;
  client.Connect(socket_);
  Until([&] { return server_->sessions() == 1; });
  std::promise<void> sent;
  std::promise<void> stuck;
  loop_->Post([&] {
    stuck.set_value();
    sent.get_future().wait();
    clock_.Advance(60 * kSecond);
    server_->Tick();
  });
  stuck.get_future().wait();
  client.SendGreeting();
  sent.set_value();
  CHECK(client.Receive()->has_welcome());
}

// The client unmaps everything as exec does, which ends neither the process nor
// its pidfd.
TEST_CASE_METHOD(ServerTest,
                 "The server takes all back when a living client has nothing "
                 "mapped any more",
                 "[session][server]") {
  const std::string folder = Folder("data");
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const base::Fd read_end(ends[0]);
  base::Fd write_end(ends[1]);
  RawClient client;
  ClientProcess process([&] {
    write_end.Close();
    client.Connect(socket_);
    client.Greet(read_end.get());
    const auto opened = client.Open(folder);
    CHECK(client.Start(opened.loader_id()).has_epoch_started());
  });
  StartServer();
  process.Begin();
  REQUIRE(process.AwaitDone());
  CHECK(server_->sessions() == 1);

  write_end = base::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  AwaitNothingLeft();
  CHECK_FALSE(client.Receive().has_value());
}

}  // namespace
}  // namespace forebay::session
