#include "server/stream/stream.h"

#include <deque>
#include <random>
#include <vector>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/stream/epoch_samples.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kDefaultSlots = 2 + kLeaseQuota;

TEST_CASE(
    "A stream delivers an epoch in its order whatever the order of completion",
    "[stream]") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(103, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    for (const std::uint64_t epoch : {0, 1, 5}) {
      REQUIRE_THAT(client.Start(epoch, 0), IsOk());
      std::vector<std::uint64_t> ids;
      const auto end = Drain(client, production, &ids);
      CHECK(end.kind == proto::ReadyKind::kEndOfEpoch);
      CHECK(ids == Expected(stream_spec, epoch));
    }
    CHECK(stream->Snapshot(client.member()).counters.samples_delivered() ==
          3 * 103);
    CHECK(stream->Snapshot(client.member()).counters.batches_delivered() ==
          3 * 11);
  }
}

TEST_CASE("A stream delivers the samples of a list", "[stream]") {
  FakeProduction production(1);
  base::MemoryBudget budget(1 << 20);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 3,
                                     [](proto::LoaderSpec& spec) {
                                       spec.mutable_sampler()->set_order(
                                           proto::SamplerSpec::LISTED);
                                     }),
                      production.deps());
  FakeClient client(stream.get());
  // The lists differ in length, and some repeat samples.
  const std::vector<std::uint64_t> lists[] = {
      {5, 5, 99, 0, 5, 7, 1}, {2}, {}, {8, 9, 10, 11}};
  for (const auto& list : lists) {
    for (std::uint64_t first = 0; first <= list.size(); ++first) {
      REQUIRE_THAT(
          client.StartListed(3, base::MakeList(list, 100, &budget), first),
          IsOk());
      CHECK(stream->samples_per_epoch() == list.size());
      std::vector<std::uint64_t> ids;
      const auto end = Drain(client, production, &ids);
      CHECK(end.kind == proto::ReadyKind::kEndOfEpoch);
      CHECK(ids ==
            std::vector<std::uint64_t>(
                list.begin() + static_cast<std::ptrdiff_t>(first), list.end()));
    }
    CHECK_THAT(client.StartListed(3, base::MakeList(list, 100, &budget),
                                  list.size() + 1),
               HasCode(absl::StatusCode::kOutOfRange));
  }
  CHECK_THAT(client.Start(0, 0), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE("A stream reads nothing without a free slot", "[stream]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(production.reads() == kDefaultSlots * 10);
  production.RunAll();
  std::vector<proto::ReadyEntry> held;
  while (const auto entry = client.Take()) held.push_back(*entry);
  CHECK(held.size() == kDefaultSlots);
  CHECK(stream->Snapshot(client.member()).counters.batches_held() ==
        kDefaultSlots);
  CHECK_FALSE(production.Step());
  REQUIRE_THAT(client.Release(held[2]), IsOk());
  CHECK(production.reads() == 10);
}

// Batches that are complete before their turn keep their slots.
TEST_CASE("A stream makes nothing twice", "[stream]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    FakeProduction production(seed);
    const auto stream =
        *Stream::Create(FakeStreamSpec(300, 10), production.deps());
    FakeClient client(stream.get());
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    std::deque<proto::ReadyEntry> held;
    for (bool more = true; more;) {
      while (held.size() > seed % 3) {
        REQUIRE_THAT(client.Release(held.front()), IsOk());
        held.pop_front();
      }
      const auto entry = client.Take();
      if (entry.has_value()) {
        more = entry->kind == proto::ReadyKind::kBatch;
        if (more) held.push_back(*entry);
      } else {
        REQUIRE(production.Step());
      }
    }
    CHECK(stream->Snapshot(client.member()).counters.samples_decoded() == 300);
  }
}

TEST_CASE("A task of a stream makes several samples", "[stream]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production.CompleteReads();
  CHECK(production.tasks() >= 1);
  CHECK(production.tasks() < kDefaultSlots * 10 / 2);
  production.RunAll();
  CHECK(stream->Snapshot(client.member()).counters.samples_decoded() ==
        kDefaultSlots * 10);
}

TEST_CASE("A stream passes over the first samples of an epoch", "[stream]") {
  FakeProduction production(2);
  const StreamSpec stream_spec = FakeStreamSpec(103, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  for (const std::uint64_t first : {37, 103, 102}) {
    REQUIRE_THAT(client.Start(4, first), IsOk());
    std::vector<std::uint64_t> ids;
    Drain(client, production, &ids);
    CHECK(ids == Expected(stream_spec, 4, first));
    CHECK(stream->Snapshot(client.member()).position == 103);
  }
  CHECK_THAT(client.Start(4, 104), HasCode(absl::StatusCode::kOutOfRange));
}

TEST_CASE("A stream leaves out a smaller last batch where asked", "[stream]") {
  FakeProduction production(3);
  const StreamSpec stream_spec =
      FakeStreamSpec(25, 10, [](proto::LoaderSpec& spec) {
        spec.mutable_batch()->set_drop_last(true);
      });
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  CHECK(stream->batches_per_epoch() == 2);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::vector<std::uint64_t> ids;
  Drain(client, production, &ids);
  CHECK(ids.size() == 20);
}

TEST_CASE("A stream stops at any moment and starts anew", "[stream]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(200, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      REQUIRE_THAT(client.Start(epoch, 0), IsOk());
      CHECK_THAT(client.Start(epoch, 0),
                 HasCode(absl::StatusCode::kFailedPrecondition));
      for (auto steps = random() % 100; steps > 0; --steps) production.Step();
      client.Stop();
      // A published batch belongs to the client until the client releases it.
      // Batches in flight are completed later, perhaps after the next start.
      while (const auto entry = client.Take()) {
        CHECK(entry->epoch == epoch);
        REQUIRE_THAT(client.Release(*entry), IsOk());
      }
      if (random() % 2 == 0) production.RunAll();
    }
    REQUIRE_THAT(client.Start(9, 0), IsOk());
    std::vector<std::uint64_t> ids;
    Drain(client, production, &ids);
    CHECK(ids == Expected(stream_spec, 9));
    CHECK(stream->Reclaim(0));
  }
}

TEST_CASE("A stream refuses releases of what is not held", "[stream]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production.RunAll();
  const auto entry = client.Take();
  REQUIRE_THAT(client.Release(*entry), IsOk());
  UNSCOPED_INFO("twice");
  CHECK_THAT(client.Release(*entry),
             HasCode(absl::StatusCode::kInvalidArgument));
  client.release_ring().Push({.slot = 4000000000, .generation = 1});
  CHECK_THAT(stream->TakeReleases(client.member()),
             HasCode(absl::StatusCode::kInvalidArgument));
  client.release_ring().tail.store(77777);
  CHECK_THAT(stream->TakeReleases(client.member()),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE("A stream reserves its memory as long as it lives", "[stream]") {
  FakeProduction production(1);
  auto hog =
      production.budget().Reserve(production.budget().limit() - 1000, "others");
  const auto refused =
      Stream::Create(FakeStreamSpec(100, 10), production.deps());
  CHECK_THAT(refused, HasCode(absl::StatusCode::kResourceExhausted));
  UNSCOPED_INFO("nothing is kept");
  CHECK(production.budget().used() == hog->bytes());
  hog->Release();
  {
    const auto stream =
        Stream::Create(FakeStreamSpec(100, 10), production.deps());
    REQUIRE_THAT(stream, IsOk());
    const std::uint64_t before = production.budget().used();
    const std::uint64_t slots = kDefaultSlots * (*stream)->slot_size().host;
    {
      const FakeClient client(stream->get());
      CHECK(production.budget().used() == before + slots);
      hog = production.budget().Reserve(
          production.budget().limit() - before - slots - 1000, "others");
      const auto channel = *slots::Channel::Create();
      CHECK_THAT((*stream)->Join(channel.get(), 2),
                 HasCode(absl::StatusCode::kResourceExhausted));
      hog->Release();
    }
    UNSCOPED_INFO("nobody pays");
    CHECK(production.budget().used() == 0);
    const FakeClient client(stream->get());
    CHECK(production.budget().used() == before + slots);
  }
  CHECK(production.budget().used() == 0);
}

TEST_CASE("A stream starts no more epochs for a member that takes nothing",
          "[stream]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  absl::Status status;
  std::uint32_t started = 0;
  for (; status.ok() && started < 1000; ++started) {
    status = client.Start(0, 100);
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(started - 1 + kDefaultSlots <= proto::kReadyCapacity);
  while (client.Take().has_value()) {
  }
  CHECK_THAT(client.Start(0, 100), IsOk());
}

TEST_CASE("A peek at a stream shows the batch published last and holds nothing",
          "[stream]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  CHECK_THAT(stream->Peek(), HasCode(absl::StatusCode::kUnavailable));
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production.RunAll();
  const auto slot = stream->Peek();
  REQUIRE_THAT(slot, IsOk());
  proto::BatchHeader header;
  std::memcpy(&header, slot->bytes.data(), sizeof(header));
  CHECK(header.sample_count == 10);
  CHECK(header.first_sample == 10 * (kDefaultSlots - 1));
  while (const auto entry = client.Take()) {
    REQUIRE_THAT(client.Release(*entry), IsOk());
  }
  CHECK(stream->Snapshot(1).slot_counts.leased == 0);
}

}  // namespace
}  // namespace forebay::stream
