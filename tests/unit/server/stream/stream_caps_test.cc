// Tests of a stream with members whose jobs have caps.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/unit/server/storage/fake_root.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSamples = 1000;
constexpr std::uint64_t kBatch = 10;
constexpr schedule::Flow kFree = 10;
constexpr schedule::Flow kCapped = 11;

class StreamCapsTest : public ::testing::Test {
 protected:
  void Make(std::uint64_t sample_bytes = 100) {
    free_ = nullptr;
    capped_ = nullptr;
    spec_.emplace(FakeStreamSpec(
        kSamples, kBatch, [](proto::LoaderSpec&) {}, sample_bytes));
    stream_ = *Stream::Create(*spec_, production_.deps());
    free_ = std::make_unique<FakeClient>(stream_.get(), kFree);
    capped_ = std::make_unique<FakeClient>(stream_.get(), kCapped);
    stream_->SetCapped(capped_->member(), true);
  }
  // Takes the spare memory, so that the stream keeps little for members behind.
  void TakeMemory() {
    base::MemoryBudget& budget = production_.budget();
    others_ = *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  }
  // Takes all batches that are ready or can be made. Returns how many samples
  // they have.
  std::uint64_t Consume(FakeClient& client) {
    std::uint64_t samples = 0;
    for (;;) {
      production_.RunAll();
      const auto entry = client.Take();
      if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
        return samples;
      samples += client.Read(*entry).size();
      EXPECT_TRUE(client.Release(*entry).ok());
    }
  }

  FakeProduction production_{7};
  base::MemoryReservation others_;
  std::optional<StreamSpec> spec_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<FakeClient> free_;
  std::unique_ptr<FakeClient> capped_;
};

TEST_F(StreamCapsTest, ReadsAreChargedToAllThatRun) {
  Make();
  ASSERT_TRUE(free_->Start(0, 0).ok());
  EXPECT_EQ(production_.first_read().purpose.payers, nullptr);
  EXPECT_EQ(production_.first_read().purpose.job, kFree);
  production_.RunAll();
  ASSERT_TRUE(capped_->Start(0, 0).ok());
  const auto entry = free_->Take();
  ASSERT_TRUE(free_->Release(*entry).ok());
  production_.RunTasks();  // one makes a slot
  ASSERT_GT(production_.reads(), 0);
  const auto payers = storage::PayersOf(production_.first_read().purpose);
  EXPECT_EQ(std::vector<schedule::Flow>(payers.begin(), payers.end()),
            (std::vector<schedule::Flow>{kFree, kCapped}));
  production_.CompleteReads();
  EXPECT_EQ(production_.flows(), (std::vector<schedule::Flow>{kFree, kCapped}));
}

// The member that begins a batch first is charged for it alone, at first.
TEST_F(StreamCapsTest, WhatSeveralWantNoCapHoldsUpWhoeverCameFirst) {
  for (const bool reads : {false, true}) {
    SCOPED_TRACE(reads);
    Make();
    reads ? production_.CapReads(kCapped) : production_.CapTasks(kCapped);
    ASSERT_TRUE(capped_->Start(0, 0).ok());
    EXPECT_EQ(Consume(*capped_), 0);
    ASSERT_TRUE(free_->Start(0, 0).ok());
    std::uint64_t of_free = 0;
    std::uint64_t of_capped = 0;
    for (int i = 0; i < 1000 && of_free + of_capped < 2 * kSamples; ++i) {
      of_free += Consume(*free_);
      of_capped += Consume(*capped_);
    }
    EXPECT_EQ(of_free, kSamples);
    EXPECT_EQ(of_capped, kSamples) << "it gets what the other takes for it";
    production_.LiftCaps();
  }
}

// A source may hold up reads of a job without a cap, whose other reads hang.
TEST_F(StreamCapsTest, NoSourceHoldsUpWhatAMemberWantsThatComesLater) {
  Make();
  stream_->SetCapped(capped_->member(), false);
  production_.CapReads(kCapped);
  ASSERT_TRUE(capped_->Start(0, 0).ok());
  EXPECT_EQ(Consume(*capped_), 0);
  ASSERT_TRUE(free_->Start(0, 0).ok());
  std::uint64_t of_free = 0;
  for (int i = 0; i < 1000 && of_free < kSamples; ++i) {
    of_free += Consume(*free_);
    Consume(*capped_);
  }
  EXPECT_EQ(of_free, kSamples);
  production_.LiftCaps();
}

// No read can join another if their root has no name. Asked for again, the
// bytes would be read twice.
TEST_F(StreamCapsTest, WhatNobodyCanJoinIsNotReadAgain) {
  for (const bool named : {true, false}) {
    SCOPED_TRACE(named);
    FakeProduction production{7};
    StreamSpec stream_spec = FakeStreamSpec(kSamples, kBatch);
    storage::FakeRoot::Options root = {.uri = "/data"};
    if (named) root.identity = root.uri;
    stream_spec.dataset = std::make_shared<NumberedDataset>(
        kSamples, /*bytes=*/100, storage::FakeRoot::Make(root));
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient free(stream.get(), kFree);
    FakeClient capped(stream.get(), kCapped);
    stream->SetCapped(capped.member(), true);
    production.CapReads(kCapped);
    EXPECT_TRUE(capped.Start(0, 0).ok());
    const std::size_t begun = production.asked().size();
    EXPECT_GT(begun, 0);
    EXPECT_TRUE(free.Start(0, 0).ok());
    std::size_t twice = 0;
    for (const auto& [object, times] : production.asked()) {
      if (times > 1) ++twice;
    }
    EXPECT_EQ(twice, named ? begun : 0);
    production.LiftCaps();
    production.RunAll();
  }
}

// A cap delays the batches that only its member wants. Others go on meanwhile:
// a leader does not give way to a member with a cap.
TEST_F(StreamCapsTest, WhatACapHoldsUpHoldsUpNobodyElse) {
  for (const bool reads : {false, true}) {
    SCOPED_TRACE(reads);
    Make();
    ASSERT_TRUE(free_->Start(1, 200).ok());
    production_.RunAll();
    TakeMemory();
    reads ? production_.CapReads(kCapped) : production_.CapTasks(kCapped);
    ASSERT_TRUE(capped_->Start(1, 0).ok());
    EXPECT_EQ(Consume(*free_), kSamples - 200);
    EXPECT_EQ(Consume(*capped_), 0);
    production_.LiftCaps();
    EXPECT_EQ(Consume(*capped_), kSamples);
    others_.Release();
  }
}

// The samples are so large that those waiting for a cap would fill the read
// window. It has room for just one of the largest.
TEST_F(StreamCapsTest, WhatACapHoldsUpLeavesRoomForOthersBytes) {
  for (const std::uint64_t mebibytes : {2, 7, 10, 20}) {
    SCOPED_TRACE(mebibytes);
    Make(mebibytes << 20);
    const std::uint64_t used = production_.budget().used();
    production_.CapReads(kCapped);
    ASSERT_TRUE(capped_->Start(1, 0).ok());
    ASSERT_TRUE(free_->Start(1, 500).ok());
    EXPECT_EQ(Consume(*free_), kSamples - 500);
    EXPECT_GE(production_.budget().used(), used + (mebibytes << 20))
        << "what waits is counted";
    production_.LiftCaps();
    EXPECT_EQ(Consume(*capped_), kSamples);
  }
}

// The executor may learn of a cap before the stream does.
TEST_F(StreamCapsTest, NoCapHoldsUpTheMakingOfSlots) {
  Make();
  ASSERT_TRUE(free_->Start(0, 0).ok());
  production_.RunAll();
  while (free_->Take().has_value()) production_.RunAll();  // holds them all
  production_.CapTasks(kFree);
  ASSERT_TRUE(capped_->Start(1, 0).ok());
  stream_->SetCapped(free_->member(), true);
  stream_->SetCapped(capped_->member(), false);
  EXPECT_EQ(Consume(*capped_), kSamples);
}

// The stream's tasks keep it alive until they run.
TEST_F(StreamCapsTest, WhatACapHoldsUpOfAStreamThatIsOverTakesNoWindow) {
  Make();
  production_.CapTasks(kCapped);
  ASSERT_TRUE(capped_->Start(0, 0).ok());
  production_.RunAll();
  const std::weak_ptr<Stream> stream = stream_;
  free_ = nullptr;
  capped_ = nullptr;
  stream_ = nullptr;
  EXPECT_FALSE(stream.expired());
  EXPECT_LT(production_.budget().used(), std::uint64_t{1} << 20);
  production_.LiftCaps();
  production_.RunAll();
  EXPECT_TRUE(stream.expired());
  EXPECT_EQ(production_.budget().used(), 0);
}

TEST_F(StreamCapsTest, WhatIsBegunIsFreeWhenTheCapGoes) {
  Make();
  production_.CapTasks(kCapped);
  ASSERT_TRUE(capped_->Start(0, 0).ok());
  EXPECT_EQ(Consume(*capped_), 0);
  production_.LiftCaps();
  stream_->SetCapped(capped_->member(), false);
  EXPECT_EQ(Consume(*capped_), kSamples);
}

}  // namespace
}  // namespace forebay::stream
