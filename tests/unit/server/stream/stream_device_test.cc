#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/stream_device_fixture.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kDefaultSlots = 2 + kLeaseQuota;

TEST_CASE_METHOD(
    StreamDeviceTest,
    "A stream on a GPU delivers an epoch in its order by one copy a batch",
    "[stream][stream_device]") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    Make(seed);
    const std::uint64_t before = a_.copier->started();
    {
      FakeClient client(stream_.get(), 1, 0, a_.device);
      for (const std::uint64_t epoch : {0, 1, 5}) {
        REQUIRE_THAT(client.Start(epoch, 0), IsOk());
        std::vector<std::uint64_t> ids;
        CHECK(Drain(client, &ids).kind == proto::ReadyKind::kEndOfEpoch);
        CHECK(ids == Expected(epoch));
      }
      CHECK(a_.gpu->allocated() == kDefaultSlots * cuda::FakeGpu::kGranularity);
    }
    CHECK(a_.copier->started() - before == 3 * 11);
    UNSCOPED_INFO("memory goes with the last member");
    CHECK(a_.gpu->allocated() == 0);
    CHECK(a_.device->budget().used() == 0);
  }
}

TEST_CASE_METHOD(StreamDeviceTest,
                 "A stream on a GPU publishes a batch once its copy is done",
                 "[stream][stream_device]") {
  Make(1);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_->RunAll();
  CHECK_FALSE(client.Take().has_value());
  UNSCOPED_INFO("all may be in the making");
  CHECK(a_.copier->waiting() == kDefaultSlots);
  a_.copier->RunAll();
  const auto first = client.Take();
  REQUIRE(first.has_value());
  CHECK(client.Read(*first).size() == 10);
}

// A single decoding of each sample, and a single copy to each GPU, serve all
// members on all GPUs.
TEST_CASE_METHOD(StreamDeviceTest, "Members on two GPUs share what is made",
                 "[stream][stream_device]") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    Make(seed);
    const std::uint64_t on_a = a_.copier->started();
    const std::uint64_t on_b = b_.copier->started();
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (const auto& device : {a_.device, b_.device, a_.device, b_.device}) {
      clients.push_back(std::make_unique<FakeClient>(
          stream_.get(), clients.size() + 1, 0, device));
    }
    for (const auto& client : clients)
      REQUIRE_THAT(client->Start(0, 0), IsOk());
    std::vector<std::vector<std::uint64_t>> ids(clients.size());
    std::vector<bool> over(clients.size());
    while (std::count(over.begin(), over.end(), false) > 0) {
      RunAll();
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const auto entry = clients[i]->Take();
        if (over[i]) continue;
        UNSCOPED_INFO("client " << i << " starves");
        REQUIRE(entry.has_value());
        over[i] = entry->kind != proto::ReadyKind::kBatch;
        if (over[i]) continue;
        const auto batch = clients[i]->Read(*entry);
        ids[i].insert(ids[i].end(), batch.begin(), batch.end());
        REQUIRE_THAT(clients[i]->Release(*entry), IsOk());
      }
    }
    for (const auto& seen : ids) CHECK(seen == Expected(0));
    CHECK(a_.copier->started() - on_a == 11);
    CHECK(b_.copier->started() - on_b == 11);
    std::uint64_t decoded = 0;
    for (const auto& client : clients)
      decoded += stream_->Snapshot(client->member()).counters.samples_decoded();
    CHECK(decoded == Expected(0).size());
  }
}

// Members join, start, stop and leave at random, on both GPUs.
TEST_CASE_METHOD(StreamDeviceTest, "A stream on GPUs survives random schedules",
                 "[stream][stream_device]") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
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
          REQUIRE_THAT(trainer.client->Start(trainer.epoch, 0), IsOk());
          trainer.runs = true;
          break;
        case 2:
          if (random_() % 4 == 0) trainer = {};
          break;
        case 3:
          for (const auto& held : trainer.held)
            REQUIRE_THAT(trainer.client->Release(held), IsOk());
          trainer.held.clear();
          stream_->ReleaseIdleMemory();
          stream_->Reclaim(0);
          break;
        case 4:
        case 5:
        case 6: {
          if (!trainer.runs || trainer.held.size() > 1) break;
          const auto entry = trainer.client->Take();
          if (!entry.has_value()) break;
          if (entry->kind != proto::ReadyKind::kBatch) {
            CAPTURE(trainer.client->error());
            CHECK(entry->kind == proto::ReadyKind::kEndOfEpoch);
            CHECK(trainer.ids == Expected(trainer.epoch));
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
    stream_->ReleaseIdleMemory();
    CHECK(a_.gpu->allocated() + b_.gpu->allocated() == 0);
    CHECK(a_.device->budget().used() + b_.device->budget().used() == 0);
    CHECK(production_->budget().used() == 0);
  }
}

// Batches that were made before the member's GPU was added are made again for
// the GPU.
TEST_CASE_METHOD(StreamDeviceTest,
                 "A GPU that comes later gets the whole epoch",
                 "[stream][stream_device]") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    Make(seed);
    FakeClient early(stream_.get(), 1, 0, a_.device);
    REQUIRE_THAT(early.Start(0, 0), IsOk());
    for (std::uint32_t i = 0; i < 10 * seed; ++i) Step();
    FakeClient late(stream_.get(), 2, 0, b_.device);
    REQUIRE_THAT(late.Start(0, 0), IsOk());
    std::vector<std::uint64_t> ids;
    CHECK(Drain(late, &ids).kind == proto::ReadyKind::kEndOfEpoch);
    CHECK(ids == Expected(0));
    ids.clear();
    CHECK(Drain(early, &ids).kind == proto::ReadyKind::kEndOfEpoch);
    CHECK(ids == Expected(0));
  }
}

// A member prepares its GPU while another member prepares the same GPU.
TEST_CASE_METHOD(StreamDeviceTest, "Members of one GPU may start at once",
                 "[stream][stream_device]") {
  Make(5);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  REQUIRE_THAT(on_a.Start(0, 0), IsOk());
  FakeClient first(stream_.get(), 2, 0, b_.device);
  FakeClient second(stream_.get(), 3, 0, b_.device);
  absl::Status started = absl::UnknownError("not called");
  b_.gpu->InAllocate([&] { started = second.Start(0, 0); });
  REQUIRE_THAT(first.Start(0, 0), IsOk());
  REQUIRE_THAT(started, IsOk());
  for (FakeClient* const client : {&second, &first, &on_a}) {
    std::vector<std::uint64_t> ids;
    CHECK(Drain(*client, &ids).kind == proto::ReadyKind::kEndOfEpoch);
    CHECK(ids == Expected(0));
  }
}

TEST_CASE_METHOD(StreamDeviceTest,
                 "Nothing of a stream is reclaimed while a member starts",
                 "[stream][stream_device]") {
  Make(5);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  client.Stop();
  RunAll();
  FakeClient other(stream_.get(), 2, 0, b_.device);
  bool reclaimed = true;
  b_.gpu->InAllocate([&] { reclaimed = stream_->Reclaim(0); });
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  CHECK_FALSE(reclaimed);
  std::vector<std::uint64_t> ids;
  CHECK(Drain(other, &ids).kind == proto::ReadyKind::kEndOfEpoch);
  CHECK(ids == Expected(0));
}

TEST_CASE_METHOD(StreamDeviceTest,
                 "A peek at a stream reads what lies on the GPU",
                 "[stream][stream_device]") {
  Make(1);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK_THAT(stream_->Peek(), HasCode(absl::StatusCode::kUnavailable));
  RunAll();
  const auto copy = stream_->Peek();
  REQUIRE_THAT(copy, IsOk());
  proto::BatchHeader header;
  std::memcpy(&header, copy->bytes.data(), sizeof(header));
  for (std::uint32_t i = 0; i < header.field_count; ++i) {
    CHECK(header.fields[i].place == proto::Place::kHost);
    CHECK(header.fields[i].offset + header.fields[i].bytes <=
          copy->bytes.size());
  }
  std::int64_t id;
  std::uint64_t pixels[2];
  std::memcpy(&id, copy->bytes.data() + header.fields[2].offset, sizeof(id));
  std::memcpy(pixels, copy->bytes.data() + header.fields[0].offset,
              sizeof(pixels));
  CHECK(pixels[0] == static_cast<std::uint64_t>(id));
  a_.gpu->Fail(absl::InternalError("the bus"));
  CHECK_THAT(stream_->Peek(), HasCode(absl::StatusCode::kInternal));
  a_.gpu->Fail(absl::OkStatus());
}

}  // namespace
}  // namespace forebay::stream
