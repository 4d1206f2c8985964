// Tests how members of one stream share its batches.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

constexpr std::uint64_t kSamples = 1000;
constexpr std::uint64_t kBatch = 10;
constexpr std::uint32_t kSlots = 2 + kLeaseQuota;
constexpr std::int64_t kMilli = 1'000'000;

class StreamSharingTest {
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
  // Takes, checks and releases one batch. Returns whether there was one.
  bool Consume(FakeClient& client, std::uint64_t epoch, std::uint64_t* next) {
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
      return false;
    for (const std::uint64_t id : client.Read(*entry))
      CHECK(id == spec_->sampler.Epoch(epoch).SampleAt((*next)++));
    CHECK_THAT(client.Release(*entry), IsOk());
    return true;
  }
  void Pause(std::int64_t nanos) { production_.clock().Advance(nanos); }
  std::uint64_t Decoded() {
    std::uint64_t decoded = gone_;
    for (const auto& client : clients_)
      decoded += stream_->Snapshot(client->member()).counters.samples_decoded();
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

TEST_CASE_METHOD(StreamSharingTest, "Equal members have each batch made once",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 3);
  std::uint64_t next[3] = {};
  for (int i = 0; i < 3; ++i) REQUIRE_THAT(client(i).Start(4, 0), IsOk());
  bool more = true;
  while (more) {
    production_.RunAll();
    more = false;
    for (int i = 0; i < 3; ++i) more |= Consume(client(i), 4, &next[i]);
  }
  for (const std::uint64_t samples : next) CHECK(samples == kSamples);
  CHECK(Decoded() == kSamples);
  // All members are charged equal parts of the decoding.
  for (const auto& client : clients_) {
    CHECK_THAT(stream_->Snapshot(client->member()).counters.samples_decoded(),
               WithinAbs(kSamples / 3.0, 5 * kBatch));
  }
}

TEST_CASE_METHOD(StreamSharingTest,
                 "The work of a stream is charged to all members that run",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 3);
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(2).Start(0, 0), IsOk());
  std::uint64_t next = 0;
  do {
    production_.RunAll();
  } while (next < 100 && Consume(client(0), 0, &next));
  CHECK(production_.flows() == std::vector<schedule::Flow>{10, 12});
}

// A paused member does not delay the other one, and loses no sample.
TEST_CASE_METHOD(StreamSharingTest, "A member that pauses holds nobody up",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  std::uint64_t quick = 0;
  std::uint64_t paused = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  production_.RunAll();
  while (paused < 50 && Consume(client(1), 0, &paused)) production_.RunAll();
  for (production_.RunAll(); Consume(client(0), 0, &quick);) {
    Pause(kMilli);
    production_.RunAll();
  }
  CHECK(quick == kSamples);
  for (production_.RunAll(); Consume(client(1), 0, &paused);)
    production_.RunAll();
  CHECK(paused == kSamples);
  CHECK(Decoded() <= 2 * kSamples);
}

// A member was as fast as the other one until it stopped, and no event tells
// the stream that it did. Still no thread may be idle while the other trainer
// waits.
TEST_CASE_METHOD(StreamSharingTest, "A member that stops lets no thread idle",
                 "[stream][stream_sharing]") {
  // A task belongs to only one batch.
  Make(SharingMode::kElastic, 2, /*batch=*/50);
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  std::uint64_t next[2] = {};
  for (int i = 0; i < 2; ++i) REQUIRE_THAT(client(i).Start(0, 0), IsOk());
  // Both members take every batch at once, so they only wait for decoding.
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
    UNSCOPED_INFO(next[0]);
    REQUIRE(decode());
  }
}

TEST_CASE_METHOD(StreamSharingTest,
                 "A member that is behind finds what is kept",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  std::uint64_t ahead = 0;
  std::uint64_t behind = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  // There is memory for all batches between the positions of the two members.
  while (ahead < 500) {
    production_.RunAll();
    REQUIRE(Consume(client(0), 0, &ahead));
    Pause(kMilli);
  }
  CHECK(SharingStateOf(client(1)) == SharingState::kTrailing);
  CHECK(stream_->Snapshot(client(1).member()).sharing.behind >= 400);
  while (behind < kSamples) {
    production_.RunAll();
    if (ahead < kSamples) {
      REQUIRE(Consume(client(0), 0, &ahead));
    }
    REQUIRE(Consume(client(1), 0, &behind));
    Pause(kMilli);
  }
  CHECK(Decoded() == kSamples);
}

TEST_CASE_METHOD(StreamSharingTest,
                 "Slots are added for a member that is late but not for one "
                 "that stands still",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  std::uint64_t next[2] = {};
  for (int i = 0; i < 2; ++i) REQUIRE_THAT(client(i).Start(0, 0), IsOk());
  const auto go_on = [&](int clients, std::uint64_t until) {
    while (next[0] < until) {
      production_.RunAll();
      for (int i = 0; i < clients; ++i)
        REQUIRE(Consume(client(i), 0, &next[i]));
      Pause(10 * kMilli);
    }
  };
  const auto slots = [&] {
    return stream_->Snapshot(client(0).member()).slots;
  };
  go_on(2, 200);
  const std::uint32_t together = slots();
  go_on(1, 500);  // the other member is ten steps late, and counts as paused
  const std::uint32_t apart = slots();
  CHECK(apart > together);
  go_on(1, kSamples);
  CHECK(slots() == apart);
}

// Until the late member has caught up, all batches are made for it.
TEST_CASE_METHOD(StreamSharingTest,
                 "A leader gives way to a member that starts late",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 1);
  // There is no spare memory, so no batch is cached.
  base::MemoryBudget& budget = production_.budget();
  std::uint64_t ahead = 0;
  std::uint64_t behind = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  for (production_.RunAll(); ahead < 200; production_.RunAll())
    REQUIRE(Consume(client(0), 0, &ahead));
  Join();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
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
  CHECK(yielded);
  CHECK(ahead == kSamples);
  CHECK(behind == kSamples);
  CHECK(Decoded() <= kSamples + 200 + kSlots * kBatch);
}

// The follower waits for a hanging read. If the leader gave way, threads would
// be idle without helping anybody.
TEST_CASE_METHOD(StreamSharingTest,
                 "A leader does not give way to a member whose reads hang",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 1);
  base::MemoryBudget& budget = production_.budget();
  std::uint64_t ahead = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  for (production_.RunAll(); ahead < 200; production_.RunAll())
    REQUIRE(Consume(client(0), 0, &ahead));
  Join();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  production_.hangs.insert(
      std::to_string(spec_->sampler.Epoch(0).SampleAt(35)));
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  std::uint64_t behind = 0;
  for (int i = 0; i < 10'000 && ahead < kSamples; ++i) {
    production_.RunAll();
    for (bool any = true; any;) {
      any = Consume(client(0), 0, &ahead);
      any |= Consume(client(1), 0, &behind);
    }
    // While a trainer waits, it tells the stream so from time to time.
    Pause(10 * kMilli);
    REQUIRE_THAT(stream_->TakeReleases(client(0).member()), IsOk());
  }
  CHECK(ahead == kSamples);
  CHECK(behind == 30);
}

// The number of a sample, counted over all epochs, overflows 64 bits.
TEST_CASE_METHOD(
    StreamSharingTest,
    "A member that is behind in a very late epoch counts as behind",
    "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  constexpr std::uint64_t kLate = UINT64_MAX / kSamples;
  REQUIRE_THAT(client(0).Start(kLate, 700), IsOk());
  REQUIRE_THAT(client(1).Start(kLate, 0), IsOk());
  CHECK(stream_->Snapshot(client(0).member()).sharing.behind == 0);
  CHECK(stream_->Snapshot(client(1).member()).sharing.behind == 700);
}

TEST_CASE_METHOD(
    StreamSharingTest,
    "In lockstep nothing is made twice and a member that pauses holds up all",
    "[stream][stream_sharing]") {
  Make(SharingMode::kLockstep, 2);
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  std::uint64_t quick = 0;
  std::uint64_t slow = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  while (slow < kSamples) {
    for (production_.RunAll(); Consume(client(0), 0, &quick);)
      production_.RunAll();
    CHECK(quick <= slow + 2 * kSlots * kBatch);
    CAPTURE(slow);
    REQUIRE(Consume(client(1), 0, &slow));
    Pause(100 * kMilli);
  }
  CHECK(Decoded() == kSamples);
}

TEST_CASE_METHOD(StreamSharingTest,
                 "A member that dies leaves nothing behind in its stream",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  std::uint64_t next = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  production_.RunAll();
  while (client(1).Take().has_value()) {
  }
  gone_ = stream_->Snapshot(client(1).member()).counters.samples_decoded();
  clients_.pop_back();
  for (production_.RunAll(); Consume(client(0), 0, &next);)
    production_.RunAll();
  CHECK(next == kSamples);
  CHECK(stream_->Snapshot(client(0).member()).leases == 0);
  CHECK(stream_->Reclaim(0));
}

TEST_CASE_METHOD(StreamSharingTest,
                 "An error comes to each member in its place",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  const std::uint64_t bad = spec_->sampler.Epoch(0).SampleAt(25);
  production_.answers[std::to_string(bad)] = storage::ReadResult();
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 10), IsOk());
  production_.RunAll();
  std::uint64_t next = 0;
  CHECK(Consume(client(0), 0, &next));
  CHECK(Consume(client(0), 0, &next));
  CHECK(client(0).Take()->kind == proto::ReadyKind::kError);
  next = 10;
  CHECK(Consume(client(1), 0, &next));
  CHECK(client(1).Take()->kind == proto::ReadyKind::kError);
  CHECK(client(0).error() == client(1).error());
  // The next start retries the read, and the error is gone.
  production_.answers.clear();
  REQUIRE_THAT(client(0).Start(0, 20), IsOk());
  production_.RunAll();
  CHECK(Consume(client(0), 0, &next));
}

TEST_CASE_METHOD(StreamSharingTest,
                 "Slots that nobody paid for go with their use",
                 "[stream][stream_sharing]") {
  Make(SharingMode::kElastic, 2);
  const std::uint64_t paid = production_.budget().used();
  std::uint64_t ahead = 0;
  REQUIRE_THAT(client(0).Start(0, 0), IsOk());
  REQUIRE_THAT(client(1).Start(0, 0), IsOk());
  for (production_.RunAll(); Consume(client(0), 0, &ahead);)
    production_.RunAll();
  CHECK(stream_->Snapshot(client(0).member()).slots > 2 * kSlots);
  CHECK(production_.budget().used() > paid);
  clients_.pop_back();
  REQUIRE_THAT(client(0).Start(1, 0), IsOk());
  CHECK(stream_->Snapshot(client(0).member()).slots == kSlots);
  CHECK(production_.budget().used() < paid);
}

}  // namespace
}  // namespace forebay::stream
