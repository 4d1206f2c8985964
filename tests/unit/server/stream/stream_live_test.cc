// Tests of streams whose samples can be made only once.

#include <cstdint>
#include <memory>
#include <optional>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/stream_live_fixture.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSamples = kLiveSamples;

TEST_CASE_METHOD(StreamLiveTest,
                 "Members of a live stream join where the others are",
                 "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto first = Join();
  REQUIRE_THAT(first->Start(3, 0), IsOk());
  for (std::uint64_t id = 0; id < 20; ++id) CHECK(Consume(*first) == id);
  const auto second = Join();
  REQUIRE_THAT(second->Start(0, kSamples), IsOk());
  const auto joined = Consume(*second);
  REQUIRE(joined.has_value());
  CHECK(*joined >= 20u);
  CHECK(*joined <= 40u);
  for (std::uint64_t id = *joined + 1; id < 100; ++id)
    CHECK(Consume(*second) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A member of a live stream with a later epoch begins that epoch",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto first = Join();
  const auto second = Join();
  REQUIRE_THAT(first->Start(0, 0), IsOk());
  CHECK(Consume(*first) == 0u);
  REQUIRE_THAT(second->Start(1, 0), IsOk());
  CHECK(Consume(*second) == 0u);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A live stream makes nothing twice and members pass over what is gone",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto quick = Join();
  const auto slow = Join();
  // The stream has only the slots that members pay for.
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      budget.Reserve(budget.limit() - budget.used(), "other loaders");
  REQUIRE_THAT(others, IsOk());
  REQUIRE_THAT(quick->Start(0, 0), IsOk());
  REQUIRE_THAT(slow->Start(0, 0), IsOk());
  CHECK(Consume(*slow) == 0u);
  for (std::uint64_t id = 0; id < 300; ++id) {
    production_.clock().Advance(1'000'000);
    REQUIRE(Consume(*quick) == id);
  }
  std::uint64_t last = 0, taken = 1;
  while (const auto id = Consume(*slow)) {
    CHECK(*id > last);
    last = *id;
    ++taken;
  }
  CHECK(last == kSamples - 1);
  CHECK(taken < kSamples);
  CHECK(Made() <= kSamples);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "The only member of a live stream goes on after a stop with what was made",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto client = Join();
  REQUIRE_THAT(client->Start(0, 0), IsOk());
  for (std::uint64_t id = 0; id < 20; ++id) CHECK(Consume(*client) == id);
  client->Stop();
  REQUIRE_THAT(client->Start(0, 20), IsOk());
  // The client itself skips entries from before the stop.
  for (std::uint64_t id = 20; id < 40; ++id) {
    const auto next = Consume(*client);
    REQUIRE(next.has_value());
  }
}

TEST_CASE_METHOD(StreamLiveTest,
                 "A member of a live stream goes on at its own place",
                 "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  REQUIRE_THAT(behind->Start(2, 0), IsOk());
  for (std::uint64_t id = 0; id < 5; ++id) CHECK(Consume(*behind) == id);
  const auto ahead = Join();
  REQUIRE_THAT(ahead->Start(2, 60), IsOk());
  for (std::uint64_t id = 60; id < 100; ++id) CHECK(Consume(*ahead) == id);
}

TEST_CASE_METHOD(StreamLiveTest,
                 "Batches of a live stream's next epoch wait for a slower "
                 "member as others do",
                 "[stream][stream_live]") {
  for (const SharingMode mode :
       {SharingMode::kElastic, SharingMode::kLockstep}) {
    CAPTURE(mode == SharingMode::kLockstep);
    Make(mode);
    const auto quick = Join();
    const auto slow = Join();
    constexpr std::uint64_t kFirst = kSamples - 60;
    REQUIRE_THAT(quick->Start(0, kFirst), IsOk());
    REQUIRE_THAT(slow->Start(0, kFirst), IsOk());
    // The slower member has a third of the pace of the other one.
    std::uint64_t steps = 0, slow_next = kFirst;
    const auto step = [&](std::uint64_t quick_next) {
      production_.clock().Advance(1'000'000);
      if (Consume(*quick) != quick_next) return false;
      if (++steps % 3 == 0) CHECK(Consume(*slow) == slow_next++);
      return true;
    };
    std::uint64_t quick_next = kFirst;
    while (quick_next < kSamples && step(quick_next)) ++quick_next;
    if (mode == SharingMode::kLockstep) {
      while (quick_next < kSamples) {
        CHECK(Consume(*slow) == slow_next++);
        if (Consume(*quick) == quick_next) ++quick_next;
      }
    }
    REQUIRE(quick_next == kSamples);
    CHECK(quick->Take()->kind == proto::ReadyKind::kEndOfEpoch);
    REQUIRE_THAT(quick->Start(1, 0), IsOk());
    quick_next = 0;
    while (quick_next < 60 && step(quick_next)) ++quick_next;
    CHECK(quick_next >= (mode == SharingMode::kElastic ? 60u : 8u));
    while (slow_next < kSamples) CHECK(Consume(*slow) == slow_next++);
    CHECK(slow->Take()->kind == proto::ReadyKind::kEndOfEpoch);
    REQUIRE_THAT(slow->Start(1, 0), IsOk());
    for (std::uint64_t id = 0; id < 60; ++id) CHECK(Consume(*slow) == id);
  }
}

TEST_CASE_METHOD(StreamLiveTest,
                 "Live batches wait for members of the stream before",
                 "[stream][stream_live]") {
  for (const SharingMode mode :
       {SharingMode::kElastic, SharingMode::kLockstep}) {
    Make(mode);
    auto late = Join();
    REQUIRE_THAT(late->Start(0, 0), IsOk());
    CHECK(Consume(*late) == 0u);
    const std::shared_ptr<Stream> later = Create(mode);
    later->Follow(*stream_);
    const auto quick = Join(*later);
    REQUIRE_THAT(quick->Start(0, 5), IsOk());
    CHECK_FALSE(Consume(*quick).has_value());
    const auto moved = Join(*later);
    REQUIRE_THAT(moved->Start(0, 5), IsOk());
    late.reset();
    later->ReleaseIdleMemory();
    for (std::uint64_t id = 5; id < 200; ++id) {
      CHECK(Consume(*quick) == id);
      CHECK(Consume(*moved) == id);
    }
  }
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "Elastic live batches wait a second for members of the stream before",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto late = Join();
  REQUIRE_THAT(late->Start(0, 0), IsOk());
  CHECK(Consume(*late) == 0u);
  const std::shared_ptr<Stream> later = Create(SharingMode::kElastic);
  later->Follow(*stream_);
  const auto quick = Join(*later);
  REQUIRE_THAT(quick->Start(0, 5), IsOk());
  CHECK_FALSE(Consume(*quick).has_value());
  production_.clock().Advance(1'000'000'000);
  later->ReleaseIdleMemory();
  for (std::uint64_t id = 5; id < 100; ++id) CHECK(Consume(*quick) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A live batch that was abandoned is made for the member that comes to it",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  const auto ahead = Join();
  REQUIRE_THAT(ahead->Start(0, 50), IsOk());
  CHECK(Consume(*ahead) == 50u);
  ahead->Stop();
  REQUIRE_THAT(behind->Start(0, 51), IsOk());
  for (std::uint64_t id = 51; id < 80; ++id) CHECK(Consume(*behind) == id);
}

}  // namespace
}  // namespace forebay::stream
