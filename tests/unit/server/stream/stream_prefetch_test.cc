// Tests how much a stream prepares ahead, in batches and in bytes.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kLeastWindow = std::uint64_t{16} << 20;
constexpr std::uint32_t kDepth = 8;
constexpr std::uint32_t kSlots = kDepth + kLeaseQuota;
constexpr std::int64_t kMilli = 1'000'000;

StreamSpec DeepStreamSpec(std::uint64_t sample_bytes = 100) {
  return FakeStreamSpec(
      100'000, 10, [](proto::LoaderSpec&) {}, sample_bytes);
}

class StreamPrefetchTest {
 protected:
  void Make(std::uint64_t sample_bytes = 100) {
    stream_ = *Stream::Create(DeepStreamSpec(sample_bytes), production_.deps());
    client_.emplace(stream_.get(), 1, kDepth);
    REQUIRE_THAT(client_->Start(0, 0), IsOk());
  }
  std::uint32_t Depth() { return stream_->Snapshot(client_->member()).depth; }
  PrefetchSnapshot State() {
    return stream_->Snapshot(client_->member()).prefetch;
  }
  // Takes a batch, after the stream has made all batches that it wants.
  void TakePaced() {
    production_.RunAll();
    production_.clock().Advance(100 * kMilli);
    const auto entry = client_->Take();
    UNSCOPED_INFO("it would wait");
    REQUIRE(entry.has_value());
    REQUIRE_THAT(client_->Release(*entry), IsOk());
  }
  // Runs for a second. Each read takes 50 ms, whatever the number of reads;
  // decoding takes no time.
  void ReadFar() {
    for (int i = 0; i < 1000; ++i) {
      production_.clock().Advance(kMilli);
      while (production_.CompleteReadAfter(50 * kMilli)) production_.RunTasks();
      while (const auto entry = client_->Take())
        REQUIRE_THAT(client_->Release(*entry), IsOk());
    }
  }
  void SettleAtTwo() {
    for (int i = 0; i < 500 && Depth() > 2; ++i) TakePaced();
    REQUIRE(Depth() == 2);
    production_.RunAll();
  }

  FakeProduction production_{1};
  std::shared_ptr<Stream> stream_;
  std::optional<FakeClient> client_;
};

TEST_CASE_METHOD(StreamPrefetchTest,
                 "A paced trainer's prefetch depth falls to two",
                 "[stream][stream_prefetch]") {
  Make();
  CHECK(Depth() == kSlots);
  SettleAtTwo();
  for (int i = 0; i < 100; ++i) TakePaced();
  CHECK(Depth() == 2);
  production_.RunAll();
  const StreamSnapshot snapshot = stream_->Snapshot(client_->member());
  CHECK(snapshot.untaken == 2);
  CHECK(snapshot.slot_counts.leased == 2);
}

TEST_CASE_METHOD(StreamPrefetchTest,
                 "A trainer at full speed has all slots as its prefetch depth",
                 "[stream][stream_prefetch]") {
  Make();
  for (int batches = 0; batches < 300;) {
    const auto entry = client_->Take();
    if (entry.has_value()) {
      ++batches;
      REQUIRE_THAT(client_->Release(*entry), IsOk());
    } else {
      REQUIRE(production_.Step());
    }
    CHECK(Depth() == kSlots);
  }
}

// The client keeps its batches, so no release tells the stream about the burst.
// Only the client's waiting does.
TEST_CASE_METHOD(StreamPrefetchTest, "A burst of a trainer gets its batches",
                 "[stream][stream_prefetch]") {
  Make();
  SettleAtTwo();
  std::deque<proto::ReadyEntry> held;
  while (const auto entry = client_->Take()) held.push_back(*entry);
  CHECK(held.size() == 2);
  CHECK_FALSE(production_.Step());
  CHECK_FALSE(client_->looked_at());
  REQUIRE_THAT(stream_->TakeReleases(client_->member()), IsOk());
  CHECK(Depth() == kSlots);
  production_.RunAll();
  while (const auto entry = client_->Take()) held.push_back(*entry);
  CHECK(held.size() == kSlots);
}

TEST_CASE_METHOD(StreamPrefetchTest,
                 "A burst of a trainer that nobody tells of is seen in time",
                 "[stream][stream_prefetch]") {
  Make();
  SettleAtTwo();
  while (client_->Take().has_value()) {
  }
  stream_->ReleaseIdleMemory();
  CHECK(production_.Step());
  CHECK(Depth() == kSlots);
}

TEST_CASE_METHOD(StreamPrefetchTest,
                 "The last batches of an epoch are not taken for a burst",
                 "[stream][stream_prefetch]") {
  Make();
  SettleAtTwo();
  client_->Stop();
  while (const auto entry = client_->Take())
    REQUIRE_THAT(client_->Release(*entry), IsOk());
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch) {
    REQUIRE_THAT(client_->Start(epoch, 100'000 - 50 * 10), IsOk());
    for (int i = 0; i < 50; ++i) TakePaced();
    CHECK(Depth() == 2);
    production_.RunAll();
    REQUIRE(client_->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  }
}

TEST_CASE_METHOD(StreamPrefetchTest, "A stream asks a far source for more",
                 "[stream][stream_prefetch]") {
  Make(std::uint64_t{1} << 20);
  const std::uint64_t reserved = production_.budget().used();
  CHECK(State().window == kLeastWindow);
  ReadFar();
  CHECK(State().window >= 4 * kLeastWindow);
  CHECK(State().bytes_in_flight >= 3 * kLeastWindow);
  CHECK(production_.budget().used() ==
        reserved + State().window - kLeastWindow);
  client_->Stop();
  stream_->ReleaseIdleMemory();
  UNSCOPED_INFO("reads are under way");
  CHECK(production_.budget().used() > reserved);
  production_.RunAll();
  stream_->ReleaseIdleMemory();
  CHECK(production_.budget().used() == reserved);
  CHECK(State().window == kLeastWindow);
}

TEST_CASE_METHOD(StreamPrefetchTest,
                 "A stream without more memory does with the least read window",
                 "[stream][stream_prefetch]") {
  Make(std::uint64_t{1} << 20);
  base::MemoryBudget& budget = production_.budget();
  auto others = *budget.Reserve(budget.limit() - budget.used(), "others");
  ReadFar();
  CHECK(State().window == kLeastWindow);
  CHECK(State().bytes_in_flight <= kLeastWindow);
}

// Checks the reserved memory after each of many random events.
TEST_CASE("The memory of a stream is booked to the byte",
          "[stream][stream_prefetch]") {
  const std::uint32_t first_seed = std::random_device()();
  for (std::uint32_t seed = first_seed; seed < first_seed + 30; ++seed) {
    INFO("seed " << seed);
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
            stream->ReleaseIdleMemory();
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
              REQUIRE_THAT(client.Release(held.front()), IsOk());
            break;
          default:
            if (!stream->Snapshot(client.member()).running && held.empty()) {
              REQUIRE_THAT(client.Start(epoch++, 0), IsOk());
            }
            production.Step();
        }
        const PrefetchSnapshot state =
            stream->Snapshot(client.member()).prefetch;
        REQUIRE(budget.used() - others.bytes() ==
                reserved - kLeastWindow +
                    std::max(state.window, state.bytes_in_flight));
      }
      client.Stop();
      production.RunAll();
      stream->ReleaseIdleMemory();
      REQUIRE(budget.used() - others.bytes() == reserved);
    }
    REQUIRE(budget.used() == 0);
  }
}

}  // namespace
}  // namespace forebay::stream
