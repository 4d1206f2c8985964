// Tests of streams in lockstep whose samples can be made only once.

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

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep a live stream makes batches in order for all members",
    "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto behind = Join();
  const auto ahead = Join();
  REQUIRE_THAT(behind->Start(0, 3), IsOk());
  REQUIRE_THAT(ahead->Start(0, 60), IsOk());
  CHECK_FALSE(Consume(*ahead).has_value());
  for (std::uint64_t id = 3; id < 100; ++id) CHECK(Consume(*behind) == id);
  for (std::uint64_t id = 60; id < 100; ++id) CHECK(Consume(*ahead) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep a member of a live stream between epochs misses nothing",
    "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, kSamples - 3), IsOk());
  REQUIRE_THAT(slow->Start(0, kSamples - 3), IsOk());
  for (std::uint64_t id = kSamples - 3; id < kSamples; ++id) {
    CHECK(Consume(*quick) == id);
    CHECK(Consume(*slow) == id);
  }
  CHECK(quick->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(quick->Start(1, 0), IsOk());
  std::uint64_t quick_next = 0;
  while (const auto id = Consume(*quick)) CHECK(*id == quick_next++);
  CHECK(quick_next < kSamples);
  CHECK(slow->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(slow->Start(1, 0), IsOk());
  for (std::uint64_t id = 0; id < 100; ++id) CHECK(Consume(*slow) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep a member of a live stream that stops amid an epoch misses "
    "nothing",
    "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, 0), IsOk());
  REQUIRE_THAT(slow->Start(0, 0), IsOk());
  for (std::uint64_t id = 0; id < 30; ++id) {
    CHECK(Consume(*quick) == id);
    CHECK(Consume(*slow) == id);
  }
  Leave(*slow);
  std::uint64_t quick_next = 30;
  while (const auto id = Consume(*quick)) CHECK(*id == quick_next++);
  CHECK(quick_next < kSamples);
  REQUIRE_THAT(slow->Start(0, 30), IsOk());
  for (std::uint64_t id = 30; id < 200; ++id) {
    if (id >= quick_next) CHECK(Consume(*quick) == id);
    CHECK(Consume(*slow) == id);
  }
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep what a live stream makes for a member that stops is kept",
    "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto first = Join();
  REQUIRE_THAT(first->Start(0, 0), IsOk());
  for (std::uint64_t id = 0; id < 30; ++id) CHECK(Consume(*first) == id);
  Leave(*first);  // batches are still in flight
  production_.RunAll();
  const std::uint64_t ahead = Made() - 30;
  const auto second = Join();
  REQUIRE_THAT(second->Start(0, kSamples), IsOk());
  const auto joined = Consume(*second);
  REQUIRE(joined.has_value());
  REQUIRE_THAT(first->Start(0, 30), IsOk());
  for (std::uint64_t id = 30; id < 200; ++id) {
    CHECK(Consume(*first) == id);
    if (id > *joined) CHECK(Consume(*second) == id);
  }
  // No batch was dropped, because it would have to be made twice.
  CHECK(Made() <= 200 + ahead);
  for (const bool forfeits : {false, true}) {
    first->Stop();
    second->Stop();
    if (forfeits) {
      stream_->RemoveMember(second->member());
    } else {
      stream_->Close(first->member());
    }
    production_.RunAll();
  }
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep an idle live stream keeps what a member comes back for",
    "[stream][stream_live_lockstep]") {
  for (const SharingMode mode :
       {SharingMode::kElastic, SharingMode::kLockstep}) {
    Make(mode);
    const auto client = Join();
    REQUIRE_THAT(client->Start(0, 0), IsOk());
    for (std::uint64_t id = 0; id < 30; ++id) CHECK(Consume(*client) == id);
    Leave(*client);
    production_.RunAll();
    stream_->ReleaseIdleMemory();
    production_.clock().Advance(3'600'000'000'000);
    CHECK(stream_->Reclaim(1) == (mode == SharingMode::kElastic));
    if (mode == SharingMode::kElastic) continue;
    REQUIRE_THAT(client->Start(0, 30), IsOk());
    for (std::uint64_t id = 30; id < 200; ++id) CHECK(Consume(*client) == id);
  }
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep nobody in a live stream waits for a member that has closed",
    "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, kSamples - 1), IsOk());
  REQUIRE_THAT(slow->Start(0, kSamples - 1), IsOk());
  CHECK(Consume(*quick) == kSamples - 1);
  CHECK(Consume(*slow) == kSamples - 1);
  CHECK(quick->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(quick->Start(1, 0), IsOk());
  while (Consume(*quick).has_value()) {
  }
  stream_->Close(slow->member());
  stream_->ReleaseIdleMemory();
  CHECK(Consume(*quick).has_value());
}

TEST_CASE_METHOD(StreamLiveTest,
                 "In lockstep no member of a live stream misses any sample",
                 "[stream][stream_live_lockstep]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, 0), IsOk());
  REQUIRE_THAT(slow->Start(0, 0), IsOk());
  std::uint64_t quick_next = 0, slow_next = 0;
  while (slow_next < kSamples) {
    while (const auto id = Consume(*quick)) CHECK(*id == quick_next++);
    const auto id = Consume(*slow);
    CAPTURE(slow_next);
    REQUIRE(id.has_value());
    CHECK(*id == slow_next++);
  }
}

}  // namespace
}  // namespace forebay::stream
