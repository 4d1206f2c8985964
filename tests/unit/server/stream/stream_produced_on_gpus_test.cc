// Tests of streams on GPUs whose samples producers make, which may be stopped.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/server/stream/stream_produced_fixture.h"

namespace forebay::stream {
namespace {

using proto::ProducerCommand;

class StreamProducedOnGpusTest : public StreamProducedTest {
 protected:
  StreamProducedOnGpusTest() : StreamProducedTest(proto::Place::kDevice) {}
};

TEST_F(StreamProducedOnGpusTest, WhatAHostThatIsGoneLeavesEndsAside) {
  keeps_aside_ = true;
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_.RunAll();
  const std::uint64_t allocated = a_.gpu->allocated();
  ASSERT_GT(allocated, 0);
  producers_->Leave();
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  Settle();
  EXPECT_EQ(a_.gpu->allocated(), allocated) << "not on the waiter's thread";
  RunAside();
  EXPECT_EQ(a_.gpu->allocated(), 0);
}

TEST_F(StreamProducedOnGpusTest, AStreamEndsAside) {
  keeps_aside_ = true;
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  clients_.clear();
  const std::weak_ptr<Stream> ended = stream_;
  stream_.reset();
  producers_.reset();
  RunUntil([&] { return ended.expired(); });
  Settle();
  EXPECT_GT(a_.gpu->allocated(), 0);
  RunAside();
  EXPECT_EQ(a_.gpu->allocated(), 0);
}

TEST_F(StreamProducedOnGpusTest, AGpuThatFailsHarmsNoOtherGpusMember) {
  FakeClient& one = Join(a_.device);
  StartProducers(one);
  producers_->Stop();
  ASSERT_TRUE(one.Start(0, 0).ok());
  production_.RunAll();
  FakeClient& other = Join(b_.device);
  b_.gpu->Fail(absl::ResourceExhaustedError("no memory there"));
  EXPECT_TRUE(absl::IsResourceExhausted(other.Start(0, 0)));
  producers_->Continue();
  const proto::ReadyEntry first = Next(one);
  ASSERT_EQ(first.kind, proto::ReadyKind::kBatch) << one.error();
  ASSERT_TRUE(one.Release(first).ok());
  EXPECT_EQ(ReadAll(one).size(), kSamples - 4);
  b_.gpu->Fail(absl::OkStatus());
  ASSERT_TRUE(other.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(other), All());
}

TEST_F(StreamProducedOnGpusTest, StagingMemoryIsMadeOnce) {
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  // Plans come meanwhile, which would make what is missing.
  PassSeconds(3, {});
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
  const int slots = static_cast<int>(stream_->Snapshot(client.member()).slots);
  EXPECT_EQ(producers_->asked(ProducerCommand::kMapSlot), 2 * slots);
}

TEST_F(StreamProducedOnGpusTest, NobodyWaitsForAStoppedHostToMap) {
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_.RunAll();
  EXPECT_EQ(production_.tasks(), 0);
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
}

TEST_F(StreamProducedOnGpusTest, AnotherGpuComesWhileTheFirstSlotsAreMapped) {
  FakeClient& one = Join(a_.device);
  StartProducers(one);
  producers_->Stop();
  ASSERT_TRUE(one.Start(0, 0).ok());
  FakeClient& other = Join(b_.device);
  ASSERT_TRUE(other.Start(0, 0).ok());
  producers_->Continue();
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < kSamples / 4; ++i) {
    for (FakeClient* const client : {&one, &other}) {
      const proto::ReadyEntry entry = Next(*client);
      ASSERT_EQ(entry.kind, proto::ReadyKind::kBatch) << client->error();
      const auto batch = client->Read(entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      ASSERT_TRUE(client->Release(entry).ok());
    }
  }
  EXPECT_EQ(ids.size(), 2 * kSamples);
  EXPECT_EQ(producers_->made(), kSamples);
}

TEST_F(StreamProducedOnGpusTest, StagingMemoryStaysBookedWhileItIsMapped) {
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(ReadAll(client), All());
  const std::uint64_t before = production_.budget().used();
  producers_->Stop();
  ASSERT_TRUE(stream_->Reclaim(0));
  EXPECT_EQ(production_.budget().used(), before);
  ASSERT_TRUE(client.Start(1, 0).ok());
  production_.RunAll();
  EXPECT_EQ(production_.budget().used(), before);
  producers_->Continue();
  EXPECT_EQ(ReadAll(client), All());
  EXPECT_EQ(production_.budget().used(), before);
}

TEST_F(StreamProducedOnGpusTest, StagingMemoryThatCannotBeMappedEndsTheEpoch) {
  FakeClient& client = Join(a_.device);
  StartProducers(client);
  producers_->Refuse("no address space");
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  producers_->Refuse("");
  // The slots of the epoch that ended may be refused still.
  proto::ReadyEntry first;
  do {
    ASSERT_TRUE(client.Start(0, 0).ok());
    first = Next(client);
  } while (first.kind == proto::ReadyKind::kError);
  ASSERT_TRUE(client.Release(first).ok());
  EXPECT_EQ(ReadAll(client).size(), kSamples - 4);
}

}  // namespace
}  // namespace forebay::stream
