// Tests of streams whose samples producers make, which may be stopped.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/mutex.h"
#include "server/producer/answer_waiter.h"
#include "server/stream/stream.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_producers.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using proto::ProducerCommand;

constexpr std::uint64_t kSamples = 40;
constexpr std::int64_t kSecond = 1'000'000'000;

class MadeDataset final : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  bool is_produced() const override { return true; }
};

class StreamProducedTest : public ::testing::Test {
 protected:
  explicit StreamProducedTest(proto::Place place = proto::Place::kHost)
      : stream_(MakeStream(place)) {}
  ~StreamProducedTest() override {
    clients_.clear();
    for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
    producers_.reset();
    // Whatever keeps the stream ends with the waiter's callbacks.
    Settle();
    stream_.reset();
    RunAside();
  }

  std::shared_ptr<Stream> MakeStream(proto::Place place) {
    StreamSpec spec = FakeStreamSpec(kSamples, /*batch_size=*/4);
    spec.dataset = std::make_shared<MadeDataset>(kSamples);
    spec.place = place;
    StreamDeps deps = production_.deps();
    deps.answer_waiter = &waiter_;
    deps.aside = [this](const std::string&, std::function<void()> work) {
      if (!keeps_aside_) return;  // ends the work's objects
      base::MutexLock lock(&aside_mutex_);
      aside_.push_back(std::move(work));
    };
    return *Stream::Create(std::move(spec), deps);
  }
  FakeClient& Join(const DevicePtr& device = nullptr) {
    clients_.push_back(std::make_unique<FakeClient>(
        stream_.get(), static_cast<schedule::Flow>(clients_.size() + 1),
        /*depth=*/0, device));
    return *clients_.back();
  }
  void StartProducers(const FakeClient& owner, std::uint32_t most = 2) {
    producers_ = std::make_unique<FakeProducers>(
        *stream_->StartProducers(owner.member(), most));
  }

  // Does what was left aside, and what that leaves.
  void RunAside() {
    keeps_aside_ = false;
    std::vector<std::function<void()>> works;
    {
      base::MutexLock lock(&aside_mutex_);
      works.swap(aside_);
    }
    for (const auto& work : works) work();
  }
  // Lets the waiter do what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }
  // Runs whatever comes, until that is true.
  void RunUntil(const std::function<bool()>& condition) {
    while (!condition()) {
      production_.RunAll();
      for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
      std::this_thread::yield();
    }
  }
  // Takes the next entry, once it is there.
  proto::ReadyEntry Next(FakeClient& client) {
    std::optional<proto::ReadyEntry> entry;
    RunUntil([&] { return (entry = client.Take()).has_value(); });
    return *entry;
  }
  // Reads batches until the epoch ends. Returns the samples.
  std::vector<std::uint64_t> ReadAll(FakeClient& client) {
    std::vector<std::uint64_t> ids;
    for (;;) {
      const proto::ReadyEntry entry = Next(client);
      EXPECT_NE(entry.kind, proto::ReadyKind::kError) << client.error();
      if (entry.kind != proto::ReadyKind::kBatch) break;
      const auto batch = client.Read(entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      EXPECT_TRUE(client.Release(entry).ok());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  // Lets so many seconds pass, in which these trainers wait for batches.
  void PassSeconds(int seconds, const std::vector<FakeClient*>& waiting) {
    for (int i = 0; i < seconds; ++i) {
      production_.clock().Advance(kSecond);
      for (FakeClient* const client : waiting)
        client->release_ring().wait_nanos += kSecond;
      production_.RunAll();
      stream_->Rest();
    }
  }

  static std::vector<std::uint64_t> All() {
    std::vector<std::uint64_t> ids(kSamples);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }

  std::atomic<bool> keeps_aside_ = false;
  base::Mutex aside_mutex_;
  std::vector<std::function<void()>> aside_;
  device::FakeDevice a_{0};
  device::FakeDevice b_{1};
  FakeProduction production_{7};
  producer::AnswerWaiter waiter_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<FakeProducers> producers_;
  std::vector<std::unique_ptr<FakeClient>> clients_;
};

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

TEST_F(StreamProducedTest, AHostThatIsGoneBeforeItMapsEndsTheEpoch) {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  ASSERT_TRUE(client.Start(0, 0).ok());
  producers_->Leave();
  EXPECT_EQ(Next(client).kind, proto::ReadyKind::kError);
  EXPECT_TRUE(stream_->HasEnded());
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
