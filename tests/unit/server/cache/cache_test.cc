#include "server/cache/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cache/extent.h"
#include "server/storage/new_ticket.h"
#include "tests/unit/server/cache/cache_house.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kPlenty = 1 << 20;

TEST(CacheTest, ReadsOnceAndAnswersAtOnceFromThenOn) {
  CacheHouse house(kPlenty);
  const auto version = house.memory().Put("a", "content");
  EXPECT_EQ(house.Text(house.Request("a", version)), "content");
  house.faulty().Hold();
  EXPECT_EQ(house.Text(house.Request("a", version)), "content");
  EXPECT_EQ(house.below().times("a"), 1);
}

TEST(CacheTest, TellsExtentsVersionsObjectsAndRootsApart) {
  CacheHouse house(kPlenty);
  storage::MemorySource other;
  const auto first = house.memory().Put("a", "first");
  EXPECT_EQ(house.Text(house.Request("a", first)), "first");
  auto part = house.Request("a", first);
  part.offset = 1;
  part.length = 2;
  EXPECT_EQ(house.Text(part), "ir");
  part.length = 3;
  EXPECT_EQ(house.Text(part), "irs");
  const auto second = house.memory().Put("a", "other");
  EXPECT_EQ(house.Text(house.Request("a", second)), "other");
  // The first version is found by its version.
  EXPECT_EQ(house.Text(house.Request("a", first)), "first");
  EXPECT_EQ(house.Text(house.Request("b", second)), "NOT_FOUND: b: is gone");
  auto elsewhere = house.Request("a", second);
  elsewhere.root = other.root();
  EXPECT_THAT(house.Text(elsewhere), HasSubstr("INVALID_ARGUMENT"));
}

TEST(CacheTest, KeepsNothingOfARootWithoutIdentity) {
  CacheHouse house(kPlenty);
  auto request = house.Request("a", house.memory().Put("a", "1"));
  request.root = storage::FakeRoot::Make({.uri = "nameless"});
  EXPECT_THAT(house.Text(request), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(house.Text(request), HasSubstr("INVALID_ARGUMENT"));
  request.root = nullptr;
  EXPECT_THAT(house.Text(request), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(house.below().times("a"), 3);
  EXPECT_EQ(house.cache().Snapshot().total.source.reads, 0);
}

TEST(CacheTest, TellsWhatGaveTheBytes) {
  CacheHouse house(kPlenty);
  const auto request = house.Request("a", house.memory().Put("a", "1234"));
  EXPECT_EQ((**house.Read(request)).origin, storage::Origin::kSource);
  EXPECT_EQ((**house.Read(request)).origin, storage::Origin::kCached);
}

TEST(CacheTest, ReadsAtTheSameTimeAreOne) {
  CacheHouse house(kPlenty);
  const auto version = house.memory().Put("a", "content");
  house.faulty().Hold();
  std::vector<base::Bytes> given;
  for (int i = 0; i < 3; ++i) {
    auto request = house.Request("a", version, i);
    request.done = [&](absl::StatusOr<storage::ReadResult> result) {
      given.push_back(std::move(result->bytes));
    };
    house.cache().Read({&request, 1});
  }
  EXPECT_THAT(given, IsEmpty());
  house.faulty().Release();
  ASSERT_THAT(given, SizeIs(3));
  EXPECT_EQ(given[0].data(), given[2].data());
  EXPECT_EQ(house.below().times("a"), 1);
  const Snapshot snapshot = house.cache().Snapshot();
  EXPECT_EQ(snapshot.jobs.at(0).source.reads, 1);
  EXPECT_EQ(snapshot.jobs.at(1).shared.bytes, 7);
  EXPECT_EQ(snapshot.jobs.at(2).shared.reads, 1);
  EXPECT_EQ(snapshot.total.bytes_saved(), 14);
}

TEST(CacheTest, AllWaitersGetAnErrorWhichIsNotCached) {
  CacheHouse house(kPlenty);
  const auto version = house.memory().Put("a", "content");
  house.faulty().Fail("a", absl::UnavailableError("a: scripted"));
  house.faulty().Hold();
  std::string log;
  for (const char* name : {"1", "2"}) {
    auto request = house.Request("a", version);
    request.done = Into(&log, name);
    house.cache().Read({&request, 1});
  }
  house.faulty().Release();
  EXPECT_EQ(log, "1:UNAVAILABLE: a: scripted 2:UNAVAILABLE: a: scripted ");
  EXPECT_EQ(house.cache().Snapshot().used, 0);
  EXPECT_EQ(house.cache().Snapshot().failures, 1);
  EXPECT_EQ(house.Text(house.Request("a", version)), "content");
}

TEST(CacheTest, AReadHasItsMostUrgentWaitersPurpose) {
  CacheHouse house(kPlenty);
  const auto version = house.memory().Put("a", "content");
  house.faulty().Hold();
  std::string log;
  std::vector<storage::ReadRequest> requests;
  for (const std::uint64_t urgency : {5, 2, 7}) {
    requests.push_back(house.Request("a", version, /*job=*/urgency));
    requests.back().purpose.urgency = urgency;
    requests.back().done = Into(&log, std::to_string(urgency));
  }
  house.cache().Read(absl::MakeSpan(requests));
  ASSERT_THAT(house.below().reads(), SizeIs(1));
  EXPECT_EQ(house.below().reads()[0].purpose.urgency, 2);
  EXPECT_EQ(house.below().reads()[0].purpose.job, 2);
  // The other readers are shared once the read below has a ticket.
  std::vector<std::uint64_t> sharers;
  for (const auto& [ticket, purpose] : house.below().shares()) {
    EXPECT_EQ(ticket, house.below().reads()[0].ticket);
    sharers.push_back(purpose.job);
  }
  EXPECT_THAT(sharers, ElementsAre(5, 7));
  // So is a reader that joins while the read is in flight.
  auto late = house.Request("a", version, /*job=*/9);
  late.purpose.urgency = 1;
  late.done = Into(&log, "1");
  house.cache().Read({&late, 1});
  ASSERT_THAT(house.below().shares(), SizeIs(3));
  EXPECT_EQ(house.below().shares()[2].first, house.below().reads()[0].ticket);
  EXPECT_EQ(house.below().shares()[2].second.job, 9);
  house.faulty().Release();
  EXPECT_EQ(log, "5:content 2:content 7:content 1:content ");
}

TEST(CacheTest, EvictsWhatIsWantedLastOrBypassesTheNewcomer) {
  storage::ReadRequest any;
  any.object = "o0";
  any.length = 4;
  CacheHouse house(2 * MemoryFor(any));
  std::vector<storage::ReadRequest> requests;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::string object = "o" + std::to_string(i);
    requests.push_back(
        house.Request(object, house.memory().Put(object, "1234")));
    requests.back().sample = {1, i};
  }
  house.next_use().Want(0, 100);
  house.next_use().Want(1, 300);
  house.next_use().Want(2, 200);
  house.next_use().Want(3, 400);
  for (const auto& request : requests) house.Text(request);
  // 1 was evicted for 2, and 3 was bypassed.
  EXPECT_EQ(house.cache().Snapshot().evicted.reads, 1);
  EXPECT_EQ(house.cache().Snapshot().bypassed.reads, 1);
  EXPECT_EQ(house.cache().Snapshot().entries, 2);
  house.faulty().Hold();
  EXPECT_EQ(house.Text(requests[0]), "1234");
  EXPECT_EQ(house.Text(requests[2]), "1234");
  EXPECT_EQ(house.Text(requests[1]), "no answer yet");
  house.faulty().Release();
}

TEST(CacheTest, WhatReadersHoldCountsUntilTheyLetGo) {
  storage::ReadRequest any;
  any.object = "a";
  any.length = 4;
  const std::uint64_t memory = MemoryFor(any);
  CacheHouse house(memory);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  const auto b = house.Request("b", house.memory().Put("b", "5678"));
  auto cached = house.Read(a);
  // `a` is wanted later than `b`, but in use: `b` is read and not cached.
  auto a_again = a;
  a_again.purpose.next_use_nanos = 1'000'000;
  house.Read(a_again);
  EXPECT_EQ(house.Text(b), "5678");
  EXPECT_EQ(house.Text(b), "5678");
  EXPECT_EQ(house.below().times("b"), 2);
  EXPECT_EQ(house.cache().Snapshot().used, memory);
  cached.reset();
  EXPECT_EQ(house.Text(b), "5678");
  EXPECT_EQ(house.Text(b), "5678");
  EXPECT_EQ(house.below().times("b"), 3);
  EXPECT_EQ(house.cache().Snapshot().used, memory);
}

TEST(CacheTest, WhatIsBeingReadCounts) {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  house.faulty().Hold();
  house.Read(a);
  EXPECT_EQ(house.cache().Snapshot().used, MemoryFor(a));
  EXPECT_EQ(house.cache().Snapshot().reads_in_flight, 1);
  EXPECT_EQ(house.cache().Snapshot().entries, 0);
  house.faulty().Release();
  EXPECT_EQ(house.cache().Snapshot().used, MemoryFor(a));
  EXPECT_EQ(house.cache().Snapshot().entry_bytes, MemoryFor(a));
  EXPECT_EQ(house.cache().Snapshot().reads_in_flight, 0);
}

TEST(CacheTest, WhatIsLargerThanTheCacheIsReadAllTheSame) {
  CacheHouse house(10'000);
  const auto small = house.Request("s", house.memory().Put("s", "small"));
  const auto large =
      house.Request("l", house.memory().Put("l", std::string(20'000, 'x')));
  EXPECT_EQ(house.Text(small), "small");
  EXPECT_EQ(house.Text(large), std::string(20'000, 'x'));
  EXPECT_EQ(house.cache().Snapshot().entries, 1);
  EXPECT_EQ(house.cache().Snapshot().evicted.reads, 0);
}

TEST(CacheTest, TheBudgetIsReservedAndGivenBack) {
  CacheHouse house(10'000);
  EXPECT_EQ(house.budget().used(), 10'000);
  const auto refused =
      Cache::Create({.capacity = 1, .seed = 1}, {.below = &house.below(),
                                                 .budget = &house.budget(),
                                                 .next_use = &house.next_use(),
                                                 .clock = &house.clock()});
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  auto cached = house.Read(house.Request("a", house.memory().Put("a", "1234")));
  house.DestroyCache();
  // The budget is used as long as any reader holds the bytes.
  EXPECT_EQ(house.budget().used(), 10'000);
  EXPECT_EQ(CacheHouse::TextOf(*cached), "1234");
  cached.reset();
  EXPECT_EQ(house.budget().used(), 0);
}

TEST(CacheTest, ForgetsJobs) {
  CacheHouse house(kPlenty);
  house.Text(house.Request("a", house.memory().Put("a", "1234"), 4));
  EXPECT_THAT(house.cache().Snapshot().jobs, SizeIs(1));
  house.cache().Forget(4);
  EXPECT_THAT(house.cache().Snapshot().jobs, IsEmpty());
  EXPECT_EQ(house.cache().Snapshot().total.source.bytes, 4);
}

TEST(CacheTest, AForgottenJobsReadsUnderWayLeaveNoTrace) {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"), 4);
  house.faulty().Hold();
  house.Read(a);
  house.cache().Forget(4);
  house.faulty().Release();
  EXPECT_THAT(house.cache().Snapshot().jobs, IsEmpty());
  EXPECT_EQ(house.cache().Snapshot().total.source.bytes, 4);
}

TEST(CacheTest, CallersShareTheReadsThatTheyBegan) {
  CacheHouse house(kPlenty);
  auto cached = house.Request("a", house.memory().Put("a", "1"));
  cached.ticket = storage::NewTicket();
  auto uncached = house.Request("b", house.memory().Put("b", "1"));
  uncached.root = storage::FakeRoot::Make({.uri = "nameless"});
  uncached.ticket = storage::NewTicket();
  house.faulty().Hold();
  for (const auto& request : {cached, uncached}) {
    house.Read(request);
    EXPECT_EQ(house.below().reads().back().ticket, request.ticket);
    house.cache().Share(request.ticket, {.job = 2});
    EXPECT_EQ(house.below().shares().back().first, request.ticket);
    EXPECT_EQ(house.below().shares().back().second.job, 2);
  }
  house.faulty().Release();
}

TEST(CacheTest, ACallbackMayReadAgain) {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  std::string inner;
  auto request = a;
  request.done = [&](const absl::StatusOr<storage::ReadResult>&) {
    inner = house.Text(a);
  };
  house.cache().Read({&request, 1});
  EXPECT_EQ(inner, "1234");
  EXPECT_EQ(house.below().times("a"), 1);
}

}  // namespace
}  // namespace forebay::cache
