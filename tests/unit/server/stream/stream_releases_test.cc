// Tests of how a stream learns of releases. It looks for them itself while it
// works for a running member; otherwise the client tells it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

// Calls `meanwhile` while a worker makes a sample.
class InterruptedPipeline final : public FakePipeline {
 public:
  std::function<void()> meanwhile = [] {};

  absl::Status Run(absl::Span<const std::uint8_t> encoded,
                   const pipeline::SampleKey& key,
                   pipeline::Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    meanwhile();
    return FakePipeline::Run(encoded, key, workspace, out);
  }
};

class StreamReleasesTest : public ::testing::Test {
 protected:
  void Make(std::uint32_t seed) {
    stream_ = nullptr;
    production_ = std::make_unique<FakeProduction>(seed);
    spec_.emplace(FakeStreamSpec(1000, 10));
    pipeline_ = std::make_shared<InterruptedPipeline>();
    spec_->pipeline = pipeline_;
    stream_ = *Stream::Create(*spec_, production_->deps());
  }

  std::unique_ptr<FakeProduction> production_;
  std::optional<StreamSpec> spec_;
  std::shared_ptr<InterruptedPipeline> pipeline_;
  std::shared_ptr<Stream> stream_;
};

TEST_F(StreamReleasesTest, FindsReleasesWhileItIsAtWork) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed);
    FakeClient client(stream_.get());
    std::uint64_t samples = 0;
    bool over = false;
    // Releases as a client does, which looks only afterwards whether it must
    // tell.
    const auto take = [&] {
      const auto entry = client.Take();
      if (!entry.has_value()) return;
      over |= entry->kind != proto::ReadyKind::kBatch;
      if (over) return;
      samples += client.Read(*entry).size();
      client.ReleaseUntold(*entry);
    };
    pipeline_->meanwhile = [&] {
      EXPECT_TRUE(client.looked_at());
      take();
    };
    ASSERT_TRUE(client.Start(0, 0).ok());
    int told = 0;
    while (!over) {
      EXPECT_FALSE(client.looked_at()) << "nobody is at work";
      if (production_->Step()) continue;
      take();
      ++told;
      ASSERT_TRUE(stream_->TakeReleases(client.member()).ok());
    }
    EXPECT_EQ(samples, spec_->dataset->size());
    EXPECT_LT(told, 50);
  }
}

TEST_F(StreamReleasesTest, WhatWasReleasedBeforeTheMembersKnewIsFound) {
  Make(1);
  FakeClient client(stream_.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_->RunAll();
  const auto first = client.Take();
  bool released = false;
  pipeline_->meanwhile = [&] {
    if (std::exchange(released, true)) return;
    EXPECT_TRUE(client.looked_at());
    while (const auto entry = client.Take()) client.ReleaseUntold(*entry);
    client.Stop();
  };
  ASSERT_TRUE(client.Release(*first).ok());  // another is begun
  while (!released) ASSERT_TRUE(production_->Step());
  EXPECT_FALSE(client.looked_at());
  EXPECT_EQ(stream_->Snapshot(client.member()).leases, 0)
      << "the release was overlooked";
  production_->RunAll();
  EXPECT_TRUE(stream_->Reclaim(0));
}

TEST_F(StreamReleasesTest, WhatAClosedMemberHoldsIsNoneOfTheNextOnesSlots) {
  Make(1);
  FakeClient closed(stream_.get(), 1);
  ASSERT_TRUE(closed.Start(0, 0).ok());
  std::vector<proto::ReadyEntry> held;
  production_->RunAll();
  while (const auto entry = closed.Take()) {
    held.push_back(*entry);
    production_->RunAll();
  }
  ASSERT_GE(held.size(), 2u);
  stream_->Close(closed.member());
  {
    // It gets as many as it may hold.
    FakeClient next(stream_.get(), 2);
    ASSERT_TRUE(next.Start(1, 0).ok());
    std::size_t taken = 0;
    production_->RunAll();
    while (next.Take().has_value()) {
      ++taken;
      production_->RunAll();
    }
    EXPECT_EQ(taken, held.size());
  }
  for (const proto::ReadyEntry& entry : held)
    ASSERT_TRUE(closed.Release(entry).ok());
  stream_->Rest();
  EXPECT_EQ(production_->budget().used(), 0u) << "nobody pays any more";
}

// The member closes at a different moment of its epoch each time.
TEST_F(StreamReleasesTest, OnceClosedItHoldsWhatIsLeasedAlone) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed);
    FakeClient closed(stream_.get(), 1);
    ASSERT_TRUE(closed.Start(0, 0).ok());
    for (std::uint32_t step = 0; step < 20 + 5 * seed; ++step)
      production_->Step();
    const auto held = closed.Take();
    if (!held.has_value()) continue;
    closed.LeaveUntaken();
    stream_->Close(closed.member());
    production_->RunAll();
    ASSERT_TRUE(stream_->TakeReleases(closed.member()).ok());
    stream_->Rest();
    EXPECT_EQ(production_->budget().used(),
              (held->slot + 1) * stream_->slot_size().host);
    // A member that joins now gets all its samples, and never the held slot.
    FakeClient other(stream_.get(), 2);
    ASSERT_TRUE(other.Start(1, 900).ok());
    std::uint64_t samples = 0;
    for (;;) {
      production_->RunAll();
      const auto entry = other.Take();
      ASSERT_TRUE(entry.has_value());
      if (entry->kind != proto::ReadyKind::kBatch) break;
      EXPECT_NE(entry->slot, held->slot);
      samples += other.Read(*entry).size();
      EXPECT_TRUE(other.Release(*entry).ok());
    }
    EXPECT_EQ(samples, 100);
    EXPECT_EQ(closed.Read(*held).size(), 10);
  }
}

// The other member keeps the stream at work. The stream still does not look for
// releases of the stopped one, so its client must tell.
TEST_F(StreamReleasesTest, OnceStoppedMustTellThoughOthersRun) {
  Make(1);
  FakeClient stays(stream_.get(), 1);
  FakeClient goes(stream_.get(), 2);
  ASSERT_TRUE(stays.Start(0, 0).ok());
  ASSERT_TRUE(goes.Start(0, 0).ok());
  bool stopped = false;
  pipeline_->meanwhile = [&] {
    if (stopped) return;
    EXPECT_TRUE(stays.looked_at());
    EXPECT_TRUE(goes.looked_at());
    goes.Stop();
    stopped = true;
    EXPECT_TRUE(stays.looked_at());
    EXPECT_FALSE(goes.looked_at());
  };
  while (!stopped) ASSERT_TRUE(production_->Step());
}

TEST_F(StreamReleasesTest, WhileReadsHangItMustBeTold) {
  Make(1);
  FakeClient client(stream_.get());
  const std::uint64_t hangs = spec_->sampler.Epoch(0).SampleAt(19);
  production_->hangs.insert(std::to_string(hangs));
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_->RunAll();
  EXPECT_FALSE(client.looked_at());
}

TEST_F(StreamReleasesTest, GarbageThatIsFoundBetweenTwoTasksIsToldOf) {
  Make(1);
  FakeClient client(stream_.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  client.release_ring().Push({.slot = 999, .generation = 1});
  std::uint64_t raised = 0;
  while (read(client.channel().event_fd(), &raised, sizeof(raised)) < 0) {
    ASSERT_TRUE(production_->Step()) << "nobody was told";
  }
  EXPECT_TRUE(absl::IsInvalidArgument(stream_->TakeReleases(client.member())));
}

}  // namespace
}  // namespace forebay::stream
