// Tests of which epochs a stream accepts, and where one ends and the next
// begins.

#include <gtest/gtest.h>

#include <cstdint>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kSlots = 2 + kLeaseQuota;

TEST(StreamEpochsTest, EpochsThatHaveNoEndAreRefused) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 63;
  for (const std::uint64_t epoch : {kFirst, kFirst + 1, UINT64_MAX})
    EXPECT_TRUE(absl::IsInvalidArgument(client.Start(epoch, 0))) << epoch;
  ASSERT_TRUE(client.Start(kFirst - 1, 0).ok());
  std::uint64_t samples = 0;
  for (;;) {
    production.RunAll();
    const auto entry = client.Take();
    ASSERT_TRUE(entry.has_value()) << "the stream has dried up";
    if (entry->kind == proto::ReadyKind::kEndOfEpoch) break;
    samples += client.Read(*entry).size();
    ASSERT_TRUE(client.Release(*entry).ok());
  }
  EXPECT_EQ(samples, 100);
}

TEST(StreamEpochsTest, WhatIsTakenLateIsOfTheEpochBefore) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  production.RunAll();
  client.Stop();
  ASSERT_TRUE(client.Start(1, 500).ok());
  for (std::uint32_t i = 0; i < kSlots; ++i) ASSERT_EQ(client.Take()->epoch, 0);
  const StreamSnapshot snapshot = stream->Snapshot(client.member());
  EXPECT_EQ(snapshot.taken.position, 500);
  EXPECT_EQ(snapshot.taken.samples_delivered, kSlots * 10);
}

}  // namespace
}  // namespace forebay::stream
