// Tests of streams whose samples producers make, which may be stopped.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/server/stream/stream_produced_fixture.h"

namespace forebay::stream {
namespace {

using proto::ProducerCommand;

TEST_F(StreamProducedTest, ProducersMakeAllSamples) {
  FakeClient& client = Join();
  StartProducers(client);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE(client.Start(epoch, 0).ok());
    EXPECT_EQ(ReadAll(client), All());
  }
  EXPECT_EQ(producers_->made(), 2 * kSamples);
}

TEST_F(StreamProducedTest, ProducersThatTakeNoTaskCostNoSample) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->EndAtOnce(10);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedTest, ASampleThatNoProducerTakesEndsTheEpoch) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->EndAtOnce(1000);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  EXPECT_NE(client.error().find("worker processes ended"), std::string::npos);
}

TEST_F(StreamProducedTest, StartsNothingWithoutAHost) {
  FakeClient& client = Join();
  EXPECT_TRUE(absl::IsFailedPrecondition(client.Start(0, 0)));
  StartProducers(client);
  producers_.reset();
  RunUntil([&] { return stream_->HasEnded(); });
  EXPECT_TRUE(absl::IsUnavailable(client.Start(0, 0)));
}

TEST_F(StreamProducedTest, NobodyWaitsForAStoppedHostToMapOrFork) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_.RunAll();
  EXPECT_EQ(production_.tasks(), 0) << "no task of the executor waits";
  EXPECT_EQ(stream_->Snapshot(client.member()).slots, 0);
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
  ASSERT_TRUE(client.Start(1, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedTest, TasksWaitForForksWithoutAWorker) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  RunUntil([&] { return stream_->Snapshot(client.member()).slots > 0; });
  producers_->Stop();
  production_.RunAll();
  EXPECT_EQ(production_.tasks(), 0);
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedTest, SlotsThatCannotBeMappedEndTheEpoch) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Refuse("no address space");
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  EXPECT_EQ(client.error(), "no address space");
  producers_->Refuse("");
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedTest, ForksThatWantMeansEndTheEpochAsSuch) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->RefuseForks("no process can be had");
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  EXPECT_EQ(client.error_code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(client.error(), "no process can be had");
}

TEST_F(StreamProducedTest, AHostThatIsGoneBeforeItMapsEndsTheEpoch) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  producers_->Leave();
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  EXPECT_TRUE(stream_->HasEnded());
}

TEST_F(StreamProducedTest,
       AHostThatIsGoneEndsTheEpochThoughOthersKeepTheSlots) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  RunUntil([&] {
    const auto snapshot = stream_->Snapshot(client.member());
    return snapshot.slots > 0 && snapshot.leases == snapshot.slots;
  });
  producers_->Stop();
  FakeClient& other = Join();
  ASSERT_TRUE(other.Start(0, kSamples - 4).ok());
  production_.RunAll();
  producers_->Leave();
  EXPECT_EQ(Next(other).kind, proto::ReadyKind::kError);
}

TEST_F(StreamProducedTest, MemoryStaysBookedUntilAStoppedHostHasUnmappedIt) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  const std::uint64_t before = production_.budget().used();
  producers_->Stop();
  ASSERT_TRUE(stream_->Reclaim(0));
  EXPECT_EQ(stream_->Snapshot(client.member()).slots, 0);
  EXPECT_EQ(production_.budget().used(), before);
  stream_->Close(client.member());
  EXPECT_GT(production_.budget().used(), 0);
  producers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_F(StreamProducedTest, PersistentProducersOutliveARest) {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  const std::uint64_t before = production_.budget().used();
  const int forked = producers_->asked(ProducerCommand::kFork);
  EXPECT_FALSE(stream_->Reclaim(0));
  EXPECT_EQ(production_.budget().used(), before);
  ASSERT_TRUE(client.Start(1, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  EXPECT_EQ(producers_->asked(ProducerCommand::kFork), forked);
  stream_->Close(client.member());
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_F(StreamProducedTest, SlotsOfPersistentProducersThatEndedAreReclaimed) {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  producers_->Leave();
  RunUntil([&] { return stream_->HasEnded(); });
  EXPECT_TRUE(stream_->Reclaim(0));
}

TEST_F(StreamProducedTest, PersistentProducersOutliveAnotherLoader) {
  FakeClient& client = Join();
  FakeClient& other = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  const int forked = producers_->asked(ProducerCommand::kFork);
  stream_->Close(other.member());
  ASSERT_TRUE(client.Start(1, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  EXPECT_EQ(producers_->asked(ProducerCommand::kFork), forked);
}

TEST_F(StreamProducedTest, WaitsForItsMemoryToComeBackBeforeItTakesMore) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  producers_->Stop();
  ASSERT_TRUE(stream_->Reclaim(0));
  const std::uint64_t before = production_.budget().used();
  const int mapped = producers_->asked(ProducerCommand::kMapSlot);
  ASSERT_TRUE(client.Start(1, 0).ok());
  production_.RunAll();
  EXPECT_EQ(production_.budget().used(), before);
  EXPECT_EQ(producers_->asked(ProducerCommand::kMapSlot), mapped);
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
  EXPECT_EQ(production_.budget().used(), before);
}

TEST_F(StreamProducedTest, APausedJobGoesOnWhenItIsContinued) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  const proto::ReadyEntry first = Next(client);
  producers_->Stop();
  ASSERT_TRUE(client.Release(first).ok());
  // Its trainer is paused, too, so that it does not wait.
  PassSeconds(3600, {});
  producers_->Continue();
  EXPECT_EQ(ReadAll(client).size(), kSamples - 4);
}

TEST_F(StreamProducedTest, AMemberLeavesWhileAnothersHostStandsStill) {
  FakeClient& owner = Join();
  StartProducers(owner);
  ASSERT_TRUE(owner.Start(0, 0).ok());
  FakeClient& other = Join();
  ASSERT_TRUE(other.Start(0, 0).ok());
  const proto::ReadyEntry first = Next(owner);
  EXPECT_EQ(Next(other).slot, first.slot);
  producers_->Stop();
  ASSERT_TRUE(owner.Release(first).ok());
  ASSERT_TRUE(other.Release(first).ok());
  // Those that were made in time come first.
  std::optional<proto::ReadyEntry> entry;
  while (!entry.has_value() || entry->kind == proto::ReadyKind::kBatch) {
    PassSeconds(1, {&other});
    entry = other.Take();
    if (entry.has_value() && entry->kind == proto::ReadyKind::kBatch) {
      ASSERT_TRUE(other.Release(*entry).ok());
    }
  }
  EXPECT_EQ(entry->kind, proto::ReadyKind::kError);
  EXPECT_TRUE(stream_->HasEnded()) << "new members need another";
  stream_->Close(other.member());
  PassSeconds(3600, {});
  producers_->Continue();
  EXPECT_EQ(ReadAll(owner).size(), kSamples - 4) << "nothing is lost";
  PassSeconds(1, {});
  EXPECT_FALSE(stream_->HasEnded());
}

TEST_F(StreamProducedTest, OnesOwnHostMayBeSilentForLonger) {
  FakeClient& owner = Join();
  StartProducers(owner);
  ASSERT_TRUE(owner.Start(0, 0).ok());
  ASSERT_TRUE(owner.Release(Next(owner)).ok());
  producers_->Stop();
  int seconds = 0;
  std::optional<proto::ReadyEntry> entry;
  while (!entry.has_value() || entry->kind == proto::ReadyKind::kBatch) {
    PassSeconds(1, {&owner});
    ++seconds;
    entry = owner.Take();
    if (entry.has_value() && entry->kind == proto::ReadyKind::kBatch) {
      ASSERT_TRUE(owner.Release(*entry).ok());
    }
  }
  EXPECT_EQ(entry->kind, proto::ReadyKind::kError);
  EXPECT_GT(seconds, 29);
  producers_->Continue();
}

TEST_F(StreamProducedTest, OnlyTheTimeCountsInWhichTheHostStoodStill) {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/1);
  ASSERT_TRUE(client.Start(0, 0).ok());
  std::vector<proto::ReadyEntry> held;
  while (held.size() < SlotsFor(0)) held.push_back(Next(client));
  // Its trainer waits for long, while nothing is asked of the host.
  PassSeconds(100, {&client});
  // Then all of the job is paused, so that nobody waits.
  producers_->Stop();
  for (const proto::ReadyEntry& entry : held)
    ASSERT_TRUE(client.Release(entry).ok());
  PassSeconds(3600, {});
  producers_->Continue();
  EXPECT_EQ(ReadAll(client).size(), kSamples - 4 * held.size());
}

TEST_F(StreamProducedTest, AHostStandsStillIfALookSawThat) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_.RunAll();
  production_.clock().Advance(100 * kSecond);
  EXPECT_FALSE(stream_->HasEnded()) << "it may have worked meanwhile";
  PassSeconds(3, {});
  EXPECT_TRUE(stream_->HasEnded());
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedTest, FirstSlotsStayBookedWhileAStoppedHostMayMapThem) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_.RunAll();
  stream_->Close(client.member());
  Settle();
  Settle();
  EXPECT_GE(production_.budget().used(), stream_->slot_size().host);
  producers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_F(StreamProducedTest, SlotsStayBookedWhileAStoppedHostOutlivesTheStream) {
  FakeClient& client = Join();
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  const proto::ReadyEntry entry = Next(client);
  ASSERT_EQ(entry.kind, proto::ReadyKind::kBatch);
  producers_->Stop();
  const std::uint64_t bytes = stream_->slot_size().host;
  clients_.clear();
  stream_.reset();
  // Its tasks of the executor may keep it.
  production_.RunAll();
  Settle();
  EXPECT_GE(production_.budget().used(), bytes);
  producers_->Leave();
  RunUntil([&] { return production_.budget().used() == 0; });
}

}  // namespace
}  // namespace forebay::stream
