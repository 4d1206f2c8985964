#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kDefaultSlots = 2 + kLeaseQuota;

StreamSpec DeviceSpec(std::uint64_t samples, std::uint32_t batch_size) {
  StreamSpec spec = FakeStreamSpec(samples, batch_size);
  spec.place = proto::Place::kDevice;
  return spec;
}

class StreamDeviceTest : public ::testing::Test {
 protected:
  void Make(std::uint32_t seed, std::uint64_t samples = 103) {
    stream_.reset();
    production_ = std::make_unique<FakeProduction>(seed);
    random_.seed(seed);
    spec_ = DeviceSpec(samples, 10);
    stream_ = *Stream::Create(spec_, production_->deps());
  }
  void TearDown() override {
    for (device::FakeDevice* const on : {&a_, &b_}) on->copier->RunAll();
    if (production_ != nullptr) production_->RunAll();
  }

  std::vector<std::uint64_t> Expected(std::uint64_t epoch,
                                      std::uint64_t first = 0) const {
    std::vector<std::uint64_t> ids;
    for (auto i = first; i < spec_.sampler.samples_per_epoch(); ++i)
      ids.push_back(spec_.sampler.Epoch(epoch).SampleAt(i));
    return ids;
  }
  // Does one thing that is to be done, drawn at random.
  bool Step() {
    const std::size_t on_a = a_.copier->waiting();
    const std::size_t on_b = b_.copier->waiting();
    const std::size_t drawn = random_() % (on_a + on_b + 8);
    if (drawn < on_a) {
      a_.copier->Step(drawn);
    } else if (drawn < on_a + on_b) {
      b_.copier->Step(drawn - on_a);
    } else if (!production_->Step()) {
      if (on_a + on_b == 0) return false;
      device::FakeCopier* const copier = on_a > 0 ? a_.copier : b_.copier;
      copier->Step(0);
    }
    return true;
  }
  void RunAll() {
    while (Step()) {
    }
  }
  // Takes and releases batches until the closing entry, which it returns.
  proto::ReadyEntry Drain(FakeClient& client, std::vector<std::uint64_t>* ids) {
    for (;;) {
      RunAll();
      const auto entry = client.Take();
      if (!entry.has_value()) {
        ADD_FAILURE() << "the stream has dried up";
        return {};
      }
      if (entry->kind != proto::ReadyKind::kBatch) return *entry;
      const auto batch = client.Read(*entry);
      ids->insert(ids->end(), batch.begin(), batch.end());
      EXPECT_TRUE(client.Release(*entry).ok());
    }
  }

  device::FakeDevice a_{0};
  device::FakeDevice b_{1};
  std::mt19937 random_;
  std::unique_ptr<FakeProduction> production_;
  StreamSpec spec_ = DeviceSpec(103, 10);
  std::shared_ptr<Stream> stream_;
};

TEST_F(StreamDeviceTest, DeliversAnEpochInItsOrderByOneCopyABatch) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed);
    const std::uint64_t before = a_.copier->started();
    {
      FakeClient client(stream_.get(), 1, 0, a_.device);
      for (const std::uint64_t epoch : {0, 1, 5}) {
        ASSERT_TRUE(client.Start(epoch, 0).ok());
        std::vector<std::uint64_t> ids;
        EXPECT_EQ(Drain(client, &ids).kind, proto::ReadyKind::kEndOfEpoch);
        EXPECT_EQ(ids, Expected(epoch));
      }
      EXPECT_EQ(a_.gpu->allocated(),
                kDefaultSlots * cuda::FakeGpu::kGranularity);
    }
    EXPECT_EQ(a_.copier->started() - before, 3 * 11);
    EXPECT_EQ(a_.gpu->allocated(), 0) << "memory goes with the last member";
    EXPECT_EQ(a_.device->budget().used(), 0);
  }
}

TEST_F(StreamDeviceTest, PublishesABatchOnceItsCopyIsDone) {
  Make(1);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  ASSERT_TRUE(client.Start(0, 0).ok());
  production_->RunAll();
  EXPECT_FALSE(client.Take().has_value());
  EXPECT_EQ(a_.copier->waiting(), kDefaultSlots) << "all may be in the making";
  a_.copier->RunAll();
  const auto first = client.Take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(client.Read(*first).size(), 10);
}

// One decode and one copy a GPU serve all members, on any GPU.
TEST_F(StreamDeviceTest, MembersOnTwoGpusShareWhatIsMade) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed);
    const std::uint64_t on_a = a_.copier->started();
    const std::uint64_t on_b = b_.copier->started();
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (const auto& device : {a_.device, b_.device, a_.device, b_.device}) {
      clients.push_back(std::make_unique<FakeClient>(
          stream_.get(), clients.size() + 1, 0, device));
    }
    for (const auto& client : clients) ASSERT_TRUE(client->Start(0, 0).ok());
    std::vector<std::vector<std::uint64_t>> ids(clients.size());
    std::vector<bool> over(clients.size());
    while (std::count(over.begin(), over.end(), false) > 0) {
      RunAll();
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const auto entry = clients[i]->Take();
        if (over[i]) continue;
        ASSERT_TRUE(entry.has_value()) << "client " << i << " starves";
        over[i] = entry->kind != proto::ReadyKind::kBatch;
        if (over[i]) continue;
        const auto batch = clients[i]->Read(*entry);
        ids[i].insert(ids[i].end(), batch.begin(), batch.end());
        ASSERT_TRUE(clients[i]->Release(*entry).ok());
      }
    }
    for (const auto& seen : ids) EXPECT_EQ(seen, Expected(0));
    EXPECT_EQ(a_.copier->started() - on_a, 11);
    EXPECT_EQ(b_.copier->started() - on_b, 11);
    std::uint64_t decoded = 0;
    for (const auto& client : clients)
      decoded += stream_->Snapshot(client->member()).made.samples_decoded;
    EXPECT_EQ(decoded, Expected(0).size());
  }
}

// Members come, start, stop and go at random, on both GPUs.
TEST_F(StreamDeviceTest, SurvivesRandomSchedules) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed, 57);
    struct Trainer {
      std::unique_ptr<FakeClient> client;
      std::vector<std::uint64_t> ids;
      std::uint64_t epoch = 0;
      bool runs = false;
      std::deque<proto::ReadyEntry> held;
    };
    std::vector<Trainer> trainers(4);
    for (int step = 0; step < 600; ++step) {
      Trainer& trainer = trainers[random_() % trainers.size()];
      const bool on_a = random_() % 2 == 0;
      switch (random_() % 12) {
        case 0:
          if (trainer.client != nullptr) break;
          trainer.client =
              std::make_unique<FakeClient>(stream_.get(), 1 + random_() % 4, 0,
                                           on_a ? a_.device : b_.device);
          break;
        case 1:
          if (trainer.client == nullptr || trainer.runs) break;
          trainer.epoch = random_() % 3;
          trainer.ids.clear();
          ASSERT_TRUE(trainer.client->Start(trainer.epoch, 0).ok());
          trainer.runs = true;
          break;
        case 2:
          if (random_() % 4 == 0) trainer = {};
          break;
        case 3:
          for (const auto& held : trainer.held)
            ASSERT_TRUE(trainer.client->Release(held).ok());
          trainer.held.clear();
          stream_->Rest();
          stream_->Reclaim(0);
          break;
        case 4:
        case 5:
        case 6: {
          if (!trainer.runs || trainer.held.size() > 1) break;
          const auto entry = trainer.client->Take();
          if (!entry.has_value()) break;
          if (entry->kind != proto::ReadyKind::kBatch) {
            EXPECT_EQ(entry->kind, proto::ReadyKind::kEndOfEpoch)
                << trainer.client->error();
            EXPECT_EQ(trainer.ids, Expected(trainer.epoch));
            trainer.runs = false;
            break;
          }
          const auto ids = trainer.client->Read(*entry);
          trainer.ids.insert(trainer.ids.end(), ids.begin(), ids.end());
          trainer.held.push_back(*entry);
          break;
        }
        default:
          Step();
      }
    }
    trainers.clear();
    RunAll();
    stream_->Rest();
    EXPECT_EQ(a_.gpu->allocated() + b_.gpu->allocated(), 0);
    EXPECT_EQ(a_.device->budget().used() + b_.device->budget().used(), 0);
    EXPECT_EQ(production_->budget().used(), 0);
  }
}

TEST_F(StreamDeviceTest, AFailedCopyEndsTheEpochsOnItsGpuAlone) {
  Make(3);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  FakeClient on_b(stream_.get(), 2, 0, b_.device);
  ASSERT_TRUE(on_a.Start(0, 0).ok() && on_b.Start(0, 0).ok());
  production_->RunAll();
  a_.copier->failure = absl::InternalError("the bus");
  a_.copier->RunAll();
  a_.copier->failure = absl::OkStatus();
  RunAll();
  const auto entry = on_a.Take();
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->kind, proto::ReadyKind::kError);
  EXPECT_EQ(on_a.error(), "GPU 0: the bus");
  std::vector<std::uint64_t> ids;
  EXPECT_EQ(Drain(on_b, &ids).kind, proto::ReadyKind::kEndOfEpoch);
  EXPECT_EQ(ids, Expected(0));
  // It is tried again.
  ids.clear();
  ASSERT_TRUE(on_a.Start(0, 0).ok());
  EXPECT_EQ(Drain(on_a, &ids).kind, proto::ReadyKind::kEndOfEpoch);
  EXPECT_EQ(ids, Expected(0));
}

TEST_F(StreamDeviceTest, ALostGpuIsSaidAtOnce) {
  Make(3);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  ASSERT_TRUE(client.Start(0, 0).ok());
  a_.copier->refusal = absl::DataLossError("an uncorrectable error");
  RunAll();
  const auto entry = client.Take();
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->kind, proto::ReadyKind::kError);
  EXPECT_EQ(client.error(), "GPU 0: an uncorrectable error");
}

// Batches that were made before its GPU came are made again for it.
TEST_F(StreamDeviceTest, AGpuThatComesLaterGetsTheWholeEpoch) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Make(seed);
    FakeClient early(stream_.get(), 1, 0, a_.device);
    ASSERT_TRUE(early.Start(0, 0).ok());
    for (std::uint32_t i = 0; i < 10 * seed; ++i) Step();
    FakeClient late(stream_.get(), 2, 0, b_.device);
    ASSERT_TRUE(late.Start(0, 0).ok());
    std::vector<std::uint64_t> ids;
    EXPECT_EQ(Drain(late, &ids).kind, proto::ReadyKind::kEndOfEpoch);
    EXPECT_EQ(ids, Expected(0));
    ids.clear();
    EXPECT_EQ(Drain(early, &ids).kind, proto::ReadyKind::kEndOfEpoch);
    EXPECT_EQ(ids, Expected(0));
  }
}

// One member prepares its GPU while another does the same.
TEST_F(StreamDeviceTest, MembersOfOneGpuMayStartAtOnce) {
  Make(5);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  ASSERT_TRUE(on_a.Start(0, 0).ok());
  FakeClient first(stream_.get(), 2, 0, b_.device);
  FakeClient second(stream_.get(), 3, 0, b_.device);
  absl::Status started = absl::UnknownError("not called");
  b_.gpu->InAllocate([&] { started = second.Start(0, 0); });
  ASSERT_TRUE(first.Start(0, 0).ok());
  ASSERT_TRUE(started.ok()) << started;
  for (FakeClient* const client : {&second, &first, &on_a}) {
    std::vector<std::uint64_t> ids;
    EXPECT_EQ(Drain(*client, &ids).kind, proto::ReadyKind::kEndOfEpoch);
    EXPECT_EQ(ids, Expected(0));
  }
}

TEST_F(StreamDeviceTest, NothingIsReclaimedUnderAStart) {
  Make(5);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  ASSERT_TRUE(client.Start(0, 0).ok());
  client.Stop();
  RunAll();
  FakeClient other(stream_.get(), 2, 0, b_.device);
  bool reclaimed = true;
  b_.gpu->InAllocate([&] { reclaimed = stream_->Reclaim(0); });
  ASSERT_TRUE(other.Start(0, 0).ok());
  EXPECT_FALSE(reclaimed);
  std::vector<std::uint64_t> ids;
  EXPECT_EQ(Drain(other, &ids).kind, proto::ReadyKind::kEndOfEpoch);
  EXPECT_EQ(ids, Expected(0));
}

// Its copies may still read their memory, which then is made anew.
TEST_F(StreamDeviceTest, ALostGpuHarmsNoMemberOnAnother) {
  Make(7);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  FakeClient on_b(stream_.get(), 2, 0, b_.device);
  ASSERT_TRUE(on_a.Start(0, 0).ok() && on_b.Start(0, 0).ok());
  production_->RunAll();
  a_.copier->failure = absl::DataLossError("an uncorrectable error");
  a_.copier->RunAll();
  a_.copier->refusal = a_.copier->failure;
  std::vector<std::uint64_t> ids;
  EXPECT_EQ(Drain(on_b, &ids).kind, proto::ReadyKind::kEndOfEpoch);
  EXPECT_EQ(ids, Expected(0));
  const auto entry = on_a.Take();
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->kind, proto::ReadyKind::kError);
  EXPECT_TRUE(absl::IsInternal(on_a.Start(0, 0)));
}

TEST_F(StreamDeviceTest, SaysWhichMemoryIsSpent) {
  Make(1);
  const device::FakeDevice small(2, 3 * cuda::FakeGpu::kGranularity);
  const auto channel = *arena::Channel::Create();
  const auto joined = stream_->Join(channel.get(), 1, 0, small.device);
  EXPECT_TRUE(absl::IsResourceExhausted(joined.status()));
  EXPECT_NE(joined.status().message().find("GPU 2"), std::string::npos)
      << joined.status();
  EXPECT_EQ(small.device->budget().used(), 0);
  const FakeClient fits(stream_.get(), 1, 0, a_.device);
}

TEST_F(StreamDeviceTest, PeekReadsWhatLiesOnTheGpu) {
  Make(1);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_TRUE(absl::IsUnavailable(stream_->Peek().status()));
  RunAll();
  const auto copy = stream_->Peek();
  ASSERT_TRUE(copy.ok()) << copy.status();
  proto::BatchHeader header;
  std::memcpy(&header, copy->bytes.data(), sizeof(header));
  for (std::uint32_t i = 0; i < header.field_count; ++i) {
    EXPECT_EQ(header.fields[i].place, proto::Place::kHost);
    EXPECT_LE(header.fields[i].offset + header.fields[i].bytes,
              copy->bytes.size());
  }
  std::int64_t id;
  std::uint64_t pixels[2];
  std::memcpy(&id, copy->bytes.data() + header.fields[2].offset, sizeof(id));
  std::memcpy(pixels, copy->bytes.data() + header.fields[0].offset,
              sizeof(pixels));
  EXPECT_EQ(pixels[0], static_cast<std::uint64_t>(id));
  a_.gpu->Fail(absl::InternalError("the bus"));
  EXPECT_TRUE(absl::IsInternal(stream_->Peek().status()));
  a_.gpu->Fail(absl::OkStatus());
}

}  // namespace
}  // namespace forebay::stream
