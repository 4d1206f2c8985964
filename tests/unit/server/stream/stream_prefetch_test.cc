// Tests of how much a stream prepares ahead, in batches and in bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kLeastWindow = std::uint64_t{16} << 20;
constexpr std::uint32_t kDepth = 8;
constexpr std::uint32_t kSlots = kDepth + kLeaseQuota;
constexpr std::int64_t kMilli = 1'000'000;

StreamSpec DeepStreamSpec(std::uint64_t sample_bytes = 100) {
  return FakeStreamSpec(
      100'000, 10, [](proto::LoaderSpec&) {}, sample_bytes);
}

class StreamPrefetchTest : public ::testing::Test {
 protected:
  void Make(std::uint64_t sample_bytes = 100) {
    stream_ = *Stream::Create(DeepStreamSpec(sample_bytes), production_.deps());
    client_.emplace(stream_.get(), 1, kDepth);
    ASSERT_TRUE(client_->Start(0, 0).ok());
  }
  std::uint32_t Depth() { return stream_->Snapshot(client_->member()).depth; }
  PrefetchSnapshot State() {
    return stream_->Snapshot(client_->member()).prefetch;
  }
  // Takes a batch after the stream has made all that it wants.
  void TakePaced() {
    production_.RunAll();
    production_.clock().Advance(100 * kMilli);
    const auto entry = client_->Take();
    ASSERT_TRUE(entry.has_value()) << "it would wait";
    ASSERT_TRUE(client_->Release(*entry).ok());
  }
  // Runs for a second. A read takes 50 ms, however many there are; decoding
  // takes no time.
  void ReadFar() {
    for (int i = 0; i < 1000; ++i) {
      production_.clock().Advance(kMilli);
      while (production_.CompleteReadAfter(50 * kMilli)) production_.RunTasks();
      while (const auto entry = client_->Take())
        ASSERT_TRUE(client_->Release(*entry).ok());
    }
  }
  void SettleAtTwo() {
    for (int i = 0; i < 500 && Depth() > 2; ++i) TakePaced();
    ASSERT_EQ(Depth(), 2);
    production_.RunAll();
  }

  FakeProduction production_{1};
  std::shared_ptr<Stream> stream_;
  std::optional<FakeClient> client_;
};

TEST_F(StreamPrefetchTest, APacedTrainersDepthFallsToTwo) {
  Make();
  EXPECT_EQ(Depth(), kSlots);
  SettleAtTwo();
  for (int i = 0; i < 100; ++i) TakePaced();
  EXPECT_EQ(Depth(), 2);
  production_.RunAll();
  const StreamSnapshot snapshot = stream_->Snapshot(client_->member());
  EXPECT_EQ(snapshot.taken.ready, 2);
  EXPECT_EQ(snapshot.slot_counts.leased, 2);
}

TEST_F(StreamPrefetchTest, ATrainerAtFullSpeedHasAllSlots) {
  Make();
  for (int batches = 0; batches < 300;) {
    const auto entry = client_->Take();
    if (entry.has_value()) {
      ++batches;
      ASSERT_TRUE(client_->Release(*entry).ok());
    } else {
      ASSERT_TRUE(production_.Step());
    }
    EXPECT_EQ(Depth(), kSlots);
  }
}

// The client keeps its batches, so no release tells the stream of the burst.
// The client tells it by waiting.
TEST_F(StreamPrefetchTest, ABurstGetsItsBatches) {
  Make();
  SettleAtTwo();
  std::deque<proto::ReadyEntry> held;
  while (const auto entry = client_->Take()) held.push_back(*entry);
  EXPECT_EQ(held.size(), 2);
  EXPECT_FALSE(production_.Step());
  EXPECT_FALSE(client_->looked_at());
  ASSERT_TRUE(stream_->TakeReleases(client_->member()).ok());
  EXPECT_EQ(Depth(), kSlots);
  production_.RunAll();
  while (const auto entry = client_->Take()) held.push_back(*entry);
  EXPECT_EQ(held.size(), kSlots);
}

TEST_F(StreamPrefetchTest, ABurstThatNobodyTellsOfIsSeenInTime) {
  Make();
  SettleAtTwo();
  while (client_->Take().has_value()) {
  }
  stream_->Rest();
  EXPECT_TRUE(production_.Step());
  EXPECT_EQ(Depth(), kSlots);
}

TEST_F(StreamPrefetchTest, TheLastBatchesOfAnEpochAreNoBurst) {
  Make();
  SettleAtTwo();
  client_->Stop();
  while (const auto entry = client_->Take())
    ASSERT_TRUE(client_->Release(*entry).ok());
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch) {
    ASSERT_TRUE(client_->Start(epoch, 100'000 - 50 * 10).ok());
    for (int i = 0; i < 50; ++i) TakePaced();
    EXPECT_EQ(Depth(), 2);
    production_.RunAll();
    ASSERT_EQ(client_->Take()->kind, proto::ReadyKind::kEndOfEpoch);
  }
}

TEST_F(StreamPrefetchTest, AFarSourceIsAskedForMore) {
  Make(std::uint64_t{1} << 20);
  const std::uint64_t reserved = production_.budget().used();
  EXPECT_EQ(State().window, kLeastWindow);
  ReadFar();
  EXPECT_GE(State().window, 4 * kLeastWindow);
  EXPECT_GE(State().bytes_in_flight, 3 * kLeastWindow);
  EXPECT_EQ(production_.budget().used(),
            reserved + State().window - kLeastWindow);
  client_->Stop();
  stream_->Rest();
  EXPECT_GT(production_.budget().used(), reserved) << "reads are under way";
  production_.RunAll();
  stream_->Rest();
  EXPECT_EQ(production_.budget().used(), reserved);
  EXPECT_EQ(State().window, kLeastWindow);
}

TEST_F(StreamPrefetchTest, WithoutMemoryItDoesWithTheLeast) {
  Make(std::uint64_t{1} << 20);
  base::MemoryBudget& budget = production_.budget();
  auto others = *budget.Reserve(budget.limit() - budget.used(), "others");
  ReadFar();
  EXPECT_EQ(State().window, kLeastWindow);
  EXPECT_LE(State().bytes_in_flight, kLeastWindow);
}

// Checks the memory after each of many random events.
TEST(StreamMemoryTest, IsBookedToTheByte) {
  const std::uint32_t first_seed = std::random_device()();
  for (std::uint32_t seed = first_seed; seed < first_seed + 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    FakeProduction production(seed);
    base::MemoryBudget& budget = production.budget();
    {
      const auto stream = *Stream::Create(
          DeepStreamSpec(std::uint64_t{1} << 20), production.deps());
      FakeClient client(stream.get(), 1, kDepth);
      const std::uint64_t reserved = budget.used();
      base::MemoryReservation others;
      std::uint64_t epoch = 0;
      std::deque<proto::ReadyEntry> held;
      for (int step = 0; step < 1'500; ++step) {
        switch (random() % 16) {
          case 0:
            production.clock().Advance(random() % (2'000 * kMilli));
            break;
          case 1:
            stream->Rest();
            break;
          case 2:
            others.Release();
            others = *budget.Reserve(
                random() % (budget.limit() - budget.used()), "others");
            break;
          case 3:
            if (random() % 8 == 0) client.Stop();
            break;
          case 4:
            stream->Reclaim(0);
            break;
          case 5:
            production.CompleteReads();
            break;
          case 6:
          case 7:
            while (const auto entry = client.Take())
              if (entry->kind == proto::ReadyKind::kBatch)
                held.push_back(*entry);
            break;
          case 8:
          case 9:
            for (; !held.empty(); held.pop_front())
              ASSERT_TRUE(client.Release(held.front()).ok());
            break;
          default:
            if (!stream->Snapshot(client.member()).running && held.empty()) {
              ASSERT_TRUE(client.Start(epoch++, 0).ok());
            }
            production.Step();
        }
        const PrefetchSnapshot state =
            stream->Snapshot(client.member()).prefetch;
        ASSERT_EQ(budget.used() - others.bytes(),
                  reserved - kLeastWindow +
                      std::max(state.window, state.bytes_in_flight));
      }
      client.Stop();
      production.RunAll();
      stream->Rest();
      ASSERT_EQ(budget.used() - others.bytes(), reserved);
    }
    ASSERT_EQ(budget.used(), 0);
  }
}

}  // namespace
}  // namespace forebay::stream
