// Tests of how members of one stream share its batches.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSamples = 1000;
constexpr std::uint64_t kBatch = 10;
constexpr std::uint32_t kSlots = 2 + kLeaseQuota;
constexpr std::int64_t kMilli = 1'000'000;

class StreamSharingTest : public ::testing::Test {
 protected:
  void Make(SharingMode sharing_mode, int clients,
            std::uint32_t batch = kBatch) {
    spec_.emplace(FakeStreamSpec(kSamples, batch));
    stream_ = *Stream::Create(*spec_, production_.deps(), sharing_mode);
    for (int i = 0; i < clients; ++i) Join();
  }
  FakeClient& Join() {
    const auto flow = static_cast<schedule::Flow>(10 + clients_.size());
    clients_.push_back(std::make_unique<FakeClient>(stream_.get(), flow));
    return *clients_.back();
  }
  FakeClient& client(int i) { return *clients_[i]; }
  // Takes one batch, checks it and releases it. Returns whether there was one.
  bool Consume(FakeClient& client, std::uint64_t epoch, std::uint64_t* next) {
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
      return false;
    for (const std::uint64_t id : client.Read(*entry))
      EXPECT_EQ(id, spec_->sampler.Epoch(epoch).SampleAt((*next)++));
    EXPECT_TRUE(client.Release(*entry).ok());
    return true;
  }
  void Pause(std::int64_t nanos) { production_.clock().Advance(nanos); }
  std::uint64_t Decoded() {
    std::uint64_t decoded = gone_;
    for (const auto& client : clients_)
      decoded += stream_->Snapshot(client->member()).made.samples_decoded;
    return decoded;
  }
  SharingState SharingStateOf(FakeClient& client) {
    return stream_->Snapshot(client.member()).sharing.state;
  }

  FakeProduction production_{7};
  std::optional<StreamSpec> spec_;
  std::shared_ptr<Stream> stream_;
  std::vector<std::unique_ptr<FakeClient>> clients_;
  std::uint64_t gone_ = 0;
};

TEST_F(StreamSharingTest, EqualMembersHaveEachBatchMadeOnce) {
  Make(SharingMode::kElastic, 3);
  std::uint64_t next[3] = {};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client(i).Start(4, 0).ok());
  bool more = true;
  while (more) {
    production_.RunAll();
    more = false;
    for (int i = 0; i < 3; ++i) more |= Consume(client(i), 4, &next[i]);
  }
  for (const std::uint64_t samples : next) EXPECT_EQ(samples, kSamples);
  EXPECT_EQ(Decoded(), kSamples);
  // The decoding is booked to all members in equal parts.
  for (const auto& client : clients_) {
    EXPECT_NEAR(stream_->Snapshot(client->member()).made.samples_decoded,
                kSamples / 3.0, 5 * kBatch);
  }
}

TEST_F(StreamSharingTest, TheWorkIsChargedToAllThatRun) {
  Make(SharingMode::kElastic, 3);
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(2).Start(0, 0).ok());
  std::uint64_t next = 0;
  do {
    production_.RunAll();
  } while (next < 100 && Consume(client(0), 0, &next));
  EXPECT_EQ(production_.flows(), (std::vector<schedule::Flow>{10, 12}));
}

// A member that stands still does not delay the other, and loses no sample.
TEST_F(StreamSharingTest, WhoPausesHoldsNobodyUp) {
  Make(SharingMode::kElastic, 2);
  std::uint64_t quick = 0;
  std::uint64_t paused = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  production_.RunAll();
  while (paused < 50 && Consume(client(1), 0, &paused)) production_.RunAll();
  for (production_.RunAll(); Consume(client(0), 0, &quick);) {
    Pause(kMilli);
    production_.RunAll();
  }
  EXPECT_EQ(quick, kSamples);
  for (production_.RunAll(); Consume(client(1), 0, &paused);)
    production_.RunAll();
  EXPECT_EQ(paused, kSamples);
  EXPECT_LE(Decoded(), 2 * kSamples);
}

// One member was as quick as the other until it stopped, and no event tells the
// stream. Even so, no worker waits for it while a trainer waits.
TEST_F(StreamSharingTest, WhoStopsLetsNoWorkerIdle) {
  // No task makes more than one batch.
  Make(SharingMode::kElastic, 2, /*batch=*/50);
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  std::uint64_t next[2] = {};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client(i).Start(0, 0).ok());
  // Both members take every batch at once, so they wait only for decoding.
  const auto decode = [&] {
    Pause(10 * kMilli);
    return production_.StepInOrder();
  };
  for (decode(); next[1] < 200; decode()) {
    for (int i = 0; i < 2; ++i) {
      while (Consume(client(i), 0, &next[i])) {
      }
    }
  }
  for (;;) {
    while (Consume(client(0), 0, &next[0])) {
    }
    if (next[0] == kSamples) break;
    ASSERT_TRUE(decode()) << next[0];
  }
}

TEST_F(StreamSharingTest, WhoIsBehindFindsWhatIsKept) {
  Make(SharingMode::kElastic, 2);
  std::uint64_t ahead = 0;
  std::uint64_t behind = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  // There is memory for all batches between the two members.
  while (ahead < 500) {
    production_.RunAll();
    ASSERT_TRUE(Consume(client(0), 0, &ahead));
    Pause(kMilli);
  }
  EXPECT_EQ(SharingStateOf(client(1)), SharingState::kTrailing);
  EXPECT_GE(stream_->Snapshot(client(1).member()).sharing.behind, 400);
  while (behind < kSamples) {
    production_.RunAll();
    if (ahead < kSamples) {
      ASSERT_TRUE(Consume(client(0), 0, &ahead));
    }
    ASSERT_TRUE(Consume(client(1), 0, &behind));
    Pause(kMilli);
  }
  EXPECT_EQ(Decoded(), kSamples);
}

TEST_F(StreamSharingTest, SlotsAreAddedForWhoIsLateButNotForWhoStandsStill) {
  Make(SharingMode::kElastic, 2);
  std::uint64_t next[2] = {};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client(i).Start(0, 0).ok());
  const auto go_on = [&](int clients, std::uint64_t until) {
    while (next[0] < until) {
      production_.RunAll();
      for (int i = 0; i < clients; ++i)
        ASSERT_TRUE(Consume(client(i), 0, &next[i]));
      Pause(10 * kMilli);
    }
  };
  const auto slots = [&] {
    return stream_->Snapshot(client(0).member()).slots;
  };
  go_on(2, 200);
  const std::uint32_t together = slots();
  go_on(1, 500);  // ten steps late, the other counts as paused
  const std::uint32_t apart = slots();
  EXPECT_GT(apart, together);
  go_on(1, kSamples);
  EXPECT_EQ(slots(), apart);
}

// All batches are made for the member that starts late, until it has caught up.
TEST_F(StreamSharingTest, ALeaderGivesWayToWhoStartsLate) {
  Make(SharingMode::kElastic, 1);
  // There is no memory to spare, so no batch is kept.
  base::MemoryBudget& budget = production_.budget();
  std::uint64_t ahead = 0;
  std::uint64_t behind = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  for (production_.RunAll(); ahead < 200; production_.RunAll())
    ASSERT_TRUE(Consume(client(0), 0, &ahead));
  Join();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  bool yielded = false;
  // Both members take every batch at once.
  for (int i = 0; i < 100'000 && behind < kSamples; ++i) {
    production_.StepInOrder();
    for (bool any = true; any;) {
      any = Consume(client(0), 0, &ahead);
      any |= Consume(client(1), 0, &behind);
    }
    yielded |= SharingStateOf(client(0)) == SharingState::kYielding;
  }
  EXPECT_TRUE(yielded);
  EXPECT_EQ(ahead, kSamples);
  EXPECT_EQ(behind, kSamples);
  EXPECT_LE(Decoded(), kSamples + 200 + kSlots * kBatch);
}

// The follower waits for a read that hangs. If the leader gave way, workers
// would idle for nobody's sake.
TEST_F(StreamSharingTest, ALeaderGivesNoWayToWhoseReadsHang) {
  Make(SharingMode::kElastic, 1);
  base::MemoryBudget& budget = production_.budget();
  std::uint64_t ahead = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  for (production_.RunAll(); ahead < 200; production_.RunAll())
    ASSERT_TRUE(Consume(client(0), 0, &ahead));
  Join();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  production_.hangs.insert(
      std::to_string(spec_->sampler.Epoch(0).SampleAt(35)));
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  std::uint64_t behind = 0;
  for (int i = 0; i < 10'000 && ahead < kSamples; ++i) {
    production_.RunAll();
    for (bool any = true; any;) {
      any = Consume(client(0), 0, &ahead);
      any |= Consume(client(1), 0, &behind);
    }
    // A waiting trainer tells the stream so now and then.
    Pause(10 * kMilli);
    ASSERT_TRUE(stream_->TakeReleases(client(0).member()).ok());
  }
  EXPECT_EQ(ahead, kSamples);
  EXPECT_EQ(behind, 30);
}

// The number of a sample, counted over all epochs, does not fit into 64 bits.
TEST_F(StreamSharingTest, WhoIsBehindInALateEpochIsSo) {
  Make(SharingMode::kElastic, 2);
  constexpr std::uint64_t kLate = UINT64_MAX / kSamples;
  ASSERT_TRUE(client(0).Start(kLate, 700).ok());
  ASSERT_TRUE(client(1).Start(kLate, 0).ok());
  EXPECT_EQ(stream_->Snapshot(client(0).member()).sharing.behind, 0);
  EXPECT_EQ(stream_->Snapshot(client(1).member()).sharing.behind, 700);
}

TEST_F(StreamSharingTest, InLockstepNothingIsMadeTwiceAndWhoPausesHoldsUpAll) {
  Make(SharingMode::kLockstep, 2);
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  std::uint64_t quick = 0;
  std::uint64_t slow = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  while (slow < kSamples) {
    for (production_.RunAll(); Consume(client(0), 0, &quick);)
      production_.RunAll();
    EXPECT_LE(quick, slow + 2 * kSlots * kBatch);
    ASSERT_TRUE(Consume(client(1), 0, &slow)) << slow;
    Pause(100 * kMilli);
  }
  EXPECT_EQ(Decoded(), kSamples);
}

TEST_F(StreamSharingTest, WhoDiesLeavesNothingBehind) {
  Make(SharingMode::kElastic, 2);
  std::uint64_t next = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  production_.RunAll();
  while (client(1).Take().has_value()) {
  }
  gone_ = stream_->Snapshot(client(1).member()).made.samples_decoded;
  clients_.pop_back();
  for (production_.RunAll(); Consume(client(0), 0, &next);)
    production_.RunAll();
  EXPECT_EQ(next, kSamples);
  EXPECT_EQ(stream_->Snapshot(client(0).member()).leases, 0);
  EXPECT_TRUE(stream_->Reclaim(0));
}

TEST_F(StreamSharingTest, AnErrorComesToEachInItsPlace) {
  Make(SharingMode::kElastic, 2);
  const std::uint64_t bad = spec_->sampler.Epoch(0).SampleAt(25);
  production_.answers[std::to_string(bad)] = storage::ReadResult();
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 10).ok());
  production_.RunAll();
  std::uint64_t next = 0;
  EXPECT_TRUE(Consume(client(0), 0, &next));
  EXPECT_TRUE(Consume(client(0), 0, &next));
  EXPECT_EQ(client(0).Take()->kind, proto::ReadyKind::kError);
  next = 10;
  EXPECT_TRUE(Consume(client(1), 0, &next));
  EXPECT_EQ(client(1).Take()->kind, proto::ReadyKind::kError);
  EXPECT_EQ(client(0).error(), client(1).error());
  // The next start tries the read again, and finds the error gone.
  production_.answers.clear();
  ASSERT_TRUE(client(0).Start(0, 20).ok());
  production_.RunAll();
  EXPECT_TRUE(Consume(client(0), 0, &next));
}

TEST_F(StreamSharingTest, SlotsThatNobodyPaidForGoWithTheirUse) {
  Make(SharingMode::kElastic, 2);
  const std::uint64_t paid = production_.budget().used();
  std::uint64_t ahead = 0;
  ASSERT_TRUE(client(0).Start(0, 0).ok());
  ASSERT_TRUE(client(1).Start(0, 0).ok());
  for (production_.RunAll(); Consume(client(0), 0, &ahead);)
    production_.RunAll();
  EXPECT_GT(stream_->Snapshot(client(0).member()).slots, 2 * kSlots);
  EXPECT_GT(production_.budget().used(), paid);
  clients_.pop_back();
  ASSERT_TRUE(client(0).Start(1, 0).ok());
  EXPECT_EQ(stream_->Snapshot(client(0).member()).slots, kSlots);
  EXPECT_LT(production_.budget().used(), paid);
}

}  // namespace
}  // namespace forebay::stream
