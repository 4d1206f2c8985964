#include "server/session/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
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
#include "tests/unit/server/session/client_process.h"
#include "tests/unit/server/session/raw_client.h"
#include "tests/unit/server/session/server_fixture.h"

namespace forebay::session {
namespace {

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
  if (slow == Slow::kStart && leaving == Leaving::kHangsUp) {
    AwaitIdleLoop();
    EXPECT_EQ(server_->sessions(), 1) << "its process may read batches";
  } else {
    Until([&] { return server_->sessions() == 0; });
    Until([&] { return registry_->Snapshot().empty(); });
  }
  gate.Open();
  // Batches that an epoch published before it was stopped count as held.
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

TEST_F(ServerTest, ShowsWhatAJobWaitsFor) {
  const std::string folder = Folder("data");
  StartServer();
  clock_.Advance(7);
  scan_gate_.Hold(1);
  RawClient client(socket_);
  client.SendOpen(folder);
  scan_gate_.AwaitHeld(1);
  const std::vector<job::JobSnapshot> jobs = registry_->Snapshot();
  ASSERT_EQ(jobs.size(), 1);
  ASSERT_EQ(jobs[0].pending.size(), 1);
  const job::PendingRequest& pending = jobs[0].pending[0];
  EXPECT_EQ(pending.kind, job::PendingRequest::Kind::kOpening);
  EXPECT_EQ(pending.uri, folder);
  EXPECT_EQ(pending.host, "");
  EXPECT_EQ(pending.since_nanos, 7);

  scan_gate_.Open();
  EXPECT_TRUE(client.Receive()->has_loader_opened());
  EXPECT_TRUE(registry_->Snapshot().at(0).pending.empty());
}

TEST_F(ServerTest, AClientThatLeavesGivesBackWhatItsHungRequestDoesNotUse) {
  const std::string folder = Folder("data");
  const std::string hung = Folder("hung");
  StartServer();
  {
    RawClient client(socket_);
    client.Open(folder);
    scan_gate_.Hold(1);
    client.SendOpen(hung);
    scan_gate_.AwaitHeld(1);
    EXPECT_GT(budget_.used(), 0);
  }
  Until([&] { return server_->sessions() == 0; });
  EXPECT_TRUE(registry_->Snapshot().empty());
  Until([&] { return budget_.used() == 0; });
  scan_gate_.Open();
  AwaitNothingLeft();
}

TEST_F(ServerTest, LeavesAlthoughARequestHangs) {
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
  // The thread of the greeting may have answered and not ended.
  EXPECT_THAT(hung, ::testing::Contains(::testing::EndsWith(folder)));
  const auto answer = client.Receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().message(), "the daemon is shutting down");
  EXPECT_FALSE(client.Receive().has_value());
  EXPECT_TRUE(registry_->Snapshot().empty());
  scan_gate_.Open();
}

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
  // But for batches that are leased, the loader is closed.
  Until([&] { return budget_.used() < used; });
  AwaitIdleLoop();
  EXPECT_EQ(server_->sessions(), 1);
  EXPECT_GT(StreamState().leases, 0);

  process.Kill();
  AwaitNothingLeft();
}

// Nobody will take what it left, but what it took it may still read.
TEST_F(ServerTest, TakesBackWhatAClientThatLeftNeverTook) {
  const std::string folder = Folder("data");
  StartServer();
  {
    RawClient client(socket_);
    const auto opened = client.Open(folder);
    auto* const ready = static_cast<const proto::ReadyRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
             client.fds()[0].get(), 0));
    auto* const release = static_cast<proto::ReleaseRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             client.fds()[1].get(), 0));
    ASSERT_NE(static_cast<const void*>(ready), MAP_FAILED);
    ASSERT_NE(static_cast<void*>(release), MAP_FAILED);
    EXPECT_TRUE(client.Start(opened.loader_id()).has_epoch_started());
    Until([&] { return ready->tail.load() > 1; });
    const proto::ReadyEntry taken = ready->entries[0];
    release->taken.store(1);

    client.HangUp();
    AwaitIdleLoop();
    EXPECT_GT(StreamState().ready(), 0);
    EXPECT_EQ(StreamState().held(), 1);

    release->left.store(1);
    // A thread of requests closes the loader meanwhile.
    Until([&] {
      PassTime(0);
      return StreamState().ready() == 0;
    });
    EXPECT_EQ(StreamState().held(), 1);
    EXPECT_EQ(server_->sessions(), 1);

    release->Push({.slot = taken.slot, .generation = taken.generation});
    PassTime(0);
  }
  AwaitNothingLeft();
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_F(ServerTest, HangsUpOnWhoDoesNotGreet) {
  StartServer();
  RawClient silent;
  silent.Connect(socket_);
  const RawClient greeted(socket_);
  Until([&] { return server_->sessions() == 2; });
  PassTime(9 * kSecond);
  EXPECT_EQ(server_->sessions(), 2);

  PassTime(kSecond);
  const auto answer = silent.Receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().message(), "no greeting came within 10 s");
  EXPECT_FALSE(silent.Receive().has_value());
  EXPECT_EQ(server_->sessions(), 1);
}

// The loop may have had no time to read it.
TEST_F(ServerTest, AGreetingThatLiesThereIsInTime) {
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
  EXPECT_TRUE(client.Receive()->has_welcome());
}

// As exec does, which ends neither the process nor its pidfd.
TEST_F(ServerTest, TakesAllBackWhenNothingIsMappedAnyMore) {
  const std::string folder = Folder("data");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const base::Fd read_end(ends[0]);
  base::Fd write_end(ends[1]);
  RawClient client;
  ClientProcess process([&] {
    write_end.Close();
    client.Connect(socket_);
    client.Greet(read_end.get());
    const auto opened = client.Open(folder);
    EXPECT_TRUE(client.Start(opened.loader_id()).has_epoch_started());
  });
  StartServer();
  process.Begin();
  ASSERT_TRUE(process.AwaitDone());
  EXPECT_EQ(server_->sessions(), 1);

  write_end = base::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  AwaitNothingLeft();
  EXPECT_FALSE(client.Receive().has_value());
}

}  // namespace
}  // namespace forebay::session
