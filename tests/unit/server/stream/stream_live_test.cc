// Tests of streams whose samples can be made once only.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSamples = 1000;

// As the daemon sees a live dataset, but for who makes its samples.
class LiveDataset final : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  bool is_live() const override { return true; }
};

class StreamLiveTest : public ::testing::Test {
 protected:
  void Make(SharingMode sharing_mode) { stream_ = Create(sharing_mode); }
  std::shared_ptr<Stream> Create(SharingMode sharing_mode) {
    StreamSpec spec = FakeStreamSpec(
        kSamples, /*batch_size=*/1, [](proto::LoaderSpec& loader) {
          loader.mutable_sampler()->set_order(proto::SamplerSpec::SEQUENTIAL);
        });
    spec.dataset = std::make_shared<LiveDataset>(kSamples);
    return *Stream::Create(std::move(spec), production_.deps(), sharing_mode);
  }
  std::unique_ptr<FakeClient> Join() { return Join(*stream_); }
  std::unique_ptr<FakeClient> Join(Stream& stream) {
    return std::make_unique<FakeClient>(&stream, ++flow_);
  }
  // Takes one batch and releases it. Returns its sample's place in the epoch.
  std::optional<std::uint64_t> Consume(FakeClient& client) {
    production_.RunAll();
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
      return std::nullopt;
    const std::uint64_t id = client.Read(*entry).front();
    EXPECT_TRUE(client.Release(*entry).ok());
    return id;
  }
  std::uint64_t Made() {
    return stream_->Snapshot(1).made.samples_decoded +
           stream_->Snapshot(2).made.samples_decoded;
  }

  FakeProduction production_{7};
  std::shared_ptr<Stream> stream_;
  schedule::Flow flow_ = 10;
};

TEST_F(StreamLiveTest, MembersJoinWhereTheOthersAre) {
  Make(SharingMode::kElastic);
  const auto first = Join();
  ASSERT_TRUE(first->Start(3, 0).ok());
  for (std::uint64_t id = 0; id < 20; ++id) EXPECT_EQ(Consume(*first), id);
  const auto second = Join();
  ASSERT_TRUE(second->Start(0, kSamples).ok());
  const auto joined = Consume(*second);
  ASSERT_TRUE(joined.has_value());
  EXPECT_GE(*joined, 20u);
  EXPECT_LE(*joined, 40u);
  for (std::uint64_t id = *joined + 1; id < 100; ++id)
    EXPECT_EQ(Consume(*second), id);
}

TEST_F(StreamLiveTest, AMemberWithALaterEpochBeginsThat) {
  Make(SharingMode::kElastic);
  const auto first = Join();
  const auto second = Join();
  ASSERT_TRUE(first->Start(0, 0).ok());
  EXPECT_EQ(Consume(*first), 0u);
  ASSERT_TRUE(second->Start(1, 0).ok());
  EXPECT_EQ(Consume(*second), 0u);
}

TEST_F(StreamLiveTest, NothingIsMadeTwiceAndMembersPassOverWhatIsGone) {
  Make(SharingMode::kElastic);
  const auto quick = Join();
  const auto slow = Join();
  // There are no slots but those that members pay for.
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      budget.Reserve(budget.limit() - budget.used(), "other loaders");
  ASSERT_TRUE(others.ok());
  ASSERT_TRUE(quick->Start(0, 0).ok());
  ASSERT_TRUE(slow->Start(0, 0).ok());
  EXPECT_EQ(Consume(*slow), 0u);
  for (std::uint64_t id = 0; id < 300; ++id) {
    production_.clock().Advance(1'000'000);
    ASSERT_EQ(Consume(*quick), id);
  }
  std::uint64_t last = 0, taken = 1;
  while (const auto id = Consume(*slow)) {
    EXPECT_GT(*id, last);
    last = *id;
    ++taken;
  }
  EXPECT_EQ(last, kSamples - 1);
  EXPECT_LT(taken, kSamples);
  EXPECT_LE(Made(), kSamples);
}

TEST_F(StreamLiveTest, WhoLeavesAloneGoesOnWithWhatWasMade) {
  Make(SharingMode::kElastic);
  const auto client = Join();
  ASSERT_TRUE(client->Start(0, 0).ok());
  for (std::uint64_t id = 0; id < 20; ++id) EXPECT_EQ(Consume(*client), id);
  client->Stop();
  ASSERT_TRUE(client->Start(0, 20).ok());
  // Entries of before are the client's to pass over.
  for (std::uint64_t id = 20; id < 40; ++id) {
    const auto next = Consume(*client);
    ASSERT_TRUE(next.has_value());
  }
}

TEST_F(StreamLiveTest, AMemberGoesOnAtItsOwnPlace) {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  ASSERT_TRUE(behind->Start(2, 0).ok());
  for (std::uint64_t id = 0; id < 5; ++id) EXPECT_EQ(Consume(*behind), id);
  const auto ahead = Join();
  ASSERT_TRUE(ahead->Start(2, 60).ok());
  for (std::uint64_t id = 60; id < 100; ++id) EXPECT_EQ(Consume(*ahead), id);
}

TEST_F(StreamLiveTest, InLockstepBatchesAreMadeInOrderForAll) {
  Make(SharingMode::kLockstep);
  const auto behind = Join();
  const auto ahead = Join();
  ASSERT_TRUE(behind->Start(0, 3).ok());
  ASSERT_TRUE(ahead->Start(0, 60).ok());
  EXPECT_FALSE(Consume(*ahead).has_value());
  for (std::uint64_t id = 3; id < 100; ++id) EXPECT_EQ(Consume(*behind), id);
  for (std::uint64_t id = 60; id < 100; ++id) EXPECT_EQ(Consume(*ahead), id);
}

TEST_F(StreamLiveTest, InLockstepAMemberBetweenEpochsMissesNothing) {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  ASSERT_TRUE(quick->Start(0, kSamples - 3).ok());
  ASSERT_TRUE(slow->Start(0, kSamples - 3).ok());
  for (std::uint64_t id = kSamples - 3; id < kSamples; ++id) {
    EXPECT_EQ(Consume(*quick), id);
    EXPECT_EQ(Consume(*slow), id);
  }
  EXPECT_EQ(quick->Take()->kind, proto::ReadyKind::kEndOfEpoch);
  ASSERT_TRUE(quick->Start(1, 0).ok());
  std::uint64_t quick_next = 0;
  while (const auto id = Consume(*quick)) EXPECT_EQ(*id, quick_next++);
  EXPECT_LT(quick_next, kSamples);
  EXPECT_EQ(slow->Take()->kind, proto::ReadyKind::kEndOfEpoch);
  ASSERT_TRUE(slow->Start(1, 0).ok());
  for (std::uint64_t id = 0; id < 100; ++id) EXPECT_EQ(Consume(*slow), id);
}

TEST_F(StreamLiveTest, InLockstepNobodyWaitsForWhoHasClosed) {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  ASSERT_TRUE(quick->Start(0, kSamples - 1).ok());
  ASSERT_TRUE(slow->Start(0, kSamples - 1).ok());
  EXPECT_EQ(Consume(*quick), kSamples - 1);
  EXPECT_EQ(Consume(*slow), kSamples - 1);
  EXPECT_EQ(quick->Take()->kind, proto::ReadyKind::kEndOfEpoch);
  ASSERT_TRUE(quick->Start(1, 0).ok());
  while (Consume(*quick).has_value()) {
  }
  stream_->Close(slow->member());
  stream_->Rest();
  EXPECT_TRUE(Consume(*quick).has_value());
}

TEST_F(StreamLiveTest, BatchesWaitForMembersOfTheStreamBefore) {
  for (const SharingMode mode :
       {SharingMode::kElastic, SharingMode::kLockstep}) {
    Make(mode);
    auto late = Join();
    ASSERT_TRUE(late->Start(0, 0).ok());
    EXPECT_EQ(Consume(*late), 0u);
    const std::shared_ptr<Stream> later = Create(mode);
    later->Follow(*stream_);
    const auto quick = Join(*later);
    ASSERT_TRUE(quick->Start(0, 5).ok());
    EXPECT_FALSE(Consume(*quick).has_value());
    const auto moved = Join(*later);
    ASSERT_TRUE(moved->Start(0, 5).ok());
    late.reset();
    later->Rest();
    for (std::uint64_t id = 5; id < 200; ++id) {
      EXPECT_EQ(Consume(*quick), id);
      EXPECT_EQ(Consume(*moved), id);
    }
  }
}

TEST_F(StreamLiveTest, ElasticBatchesWaitForASecond) {
  Make(SharingMode::kElastic);
  const auto late = Join();
  ASSERT_TRUE(late->Start(0, 0).ok());
  EXPECT_EQ(Consume(*late), 0u);
  const std::shared_ptr<Stream> later = Create(SharingMode::kElastic);
  later->Follow(*stream_);
  const auto quick = Join(*later);
  ASSERT_TRUE(quick->Start(0, 5).ok());
  EXPECT_FALSE(Consume(*quick).has_value());
  production_.clock().Advance(1'000'000'000);
  later->Rest();
  for (std::uint64_t id = 5; id < 100; ++id) EXPECT_EQ(Consume(*quick), id);
}

TEST_F(StreamLiveTest, ABatchThatWasAbandonedIsMadeForWhoComesToIt) {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  const auto ahead = Join();
  ASSERT_TRUE(ahead->Start(0, 50).ok());
  EXPECT_EQ(Consume(*ahead), 50u);
  ahead->Stop();
  ASSERT_TRUE(behind->Start(0, 51).ok());
  for (std::uint64_t id = 51; id < 80; ++id) EXPECT_EQ(Consume(*behind), id);
}

TEST_F(StreamLiveTest, InLockstepNoneMissesAny) {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  ASSERT_TRUE(quick->Start(0, 0).ok());
  ASSERT_TRUE(slow->Start(0, 0).ok());
  std::uint64_t quick_next = 0, slow_next = 0;
  while (slow_next < kSamples) {
    while (const auto id = Consume(*quick)) EXPECT_EQ(*id, quick_next++);
    const auto id = Consume(*slow);
    ASSERT_TRUE(id.has_value()) << slow_next;
    EXPECT_EQ(*id, slow_next++);
  }
}

}  // namespace
}  // namespace forebay::stream
