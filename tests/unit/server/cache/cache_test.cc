#include "server/cache/cache.h"

#include "server/cache/extent.h"
#include "server/storage/new_ticket.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/cache_house.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::SizeIs;

constexpr std::uint64_t kPlenty = 1 << 20;

TEST_CASE("The cache reads once and answers at once from then on", "[cache]") {
  CacheHouse house(kPlenty);
  const auto version = house.memory().Put("a", "content");
  CHECK(house.Text(house.Request("a", version)) == "content");
  house.faulty().Hold();
  CHECK(house.Text(house.Request("a", version)) == "content");
  CHECK(house.below().times("a") == 1);
}

TEST_CASE("The cache tells extents and versions and objects and roots apart",
          "[cache]") {
  CacheHouse house(kPlenty);
  storage::MemorySource other;
  const auto first = house.memory().Put("a", "first");
  CHECK(house.Text(house.Request("a", first)) == "first");
  auto part = house.Request("a", first);
  part.offset = 1;
  part.length = 2;
  CHECK(house.Text(part) == "ir");
  part.length = 3;
  CHECK(house.Text(part) == "irs");
  const auto second = house.memory().Put("a", "other");
  CHECK(house.Text(house.Request("a", second)) == "other");
  // A request for the first version still gets the first content.
  CHECK(house.Text(house.Request("a", first)) == "first");
  CHECK(house.Text(house.Request("b", second)) == "NOT_FOUND: b: is gone");
  auto elsewhere = house.Request("a", second);
  elsewhere.root = other.root();
  CHECK_THAT(house.Text(elsewhere), Contains("INVALID_ARGUMENT"));
}

TEST_CASE("The cache keeps nothing of a root without identity", "[cache]") {
  CacheHouse house(kPlenty);
  auto request = house.Request("a", house.memory().Put("a", "1"));
  request.root = storage::FakeRoot::Make({.uri = "nameless"});
  CHECK_THAT(house.Text(request), Contains("INVALID_ARGUMENT"));
  CHECK_THAT(house.Text(request), Contains("INVALID_ARGUMENT"));
  request.root = nullptr;
  CHECK_THAT(house.Text(request), Contains("INVALID_ARGUMENT"));
  CHECK(house.below().times("a") == 3);
  CHECK(house.cache().Snapshot().total.source.reads == 0);
}

TEST_CASE("The cache tells what gave the bytes", "[cache]") {
  CacheHouse house(kPlenty);
  const auto request = house.Request("a", house.memory().Put("a", "1234"));
  CHECK((**house.Read(request)).origin == storage::Origin::kSource);
  CHECK((**house.Read(request)).origin == storage::Origin::kCached);
}

TEST_CASE("Reads of the cache at the same time are one read of the source",
          "[cache]") {
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
  CHECK_THAT(given, IsEmpty());
  house.faulty().Release();
  REQUIRE_THAT(given, SizeIs(3));
  CHECK(given[0].data() == given[2].data());
  CHECK(house.below().times("a") == 1);
  const CacheSnapshot snapshot = house.cache().Snapshot();
  CHECK(snapshot.jobs.at(0).source.reads == 1);
  CHECK(snapshot.jobs.at(1).shared.bytes == 7);
  CHECK(snapshot.jobs.at(2).shared.reads == 1);
  CHECK(snapshot.total.bytes_saved() == 14);
}

TEST_CASE("All waiters of a read get an error which the cache does not keep",
          "[cache]") {
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
  CHECK(log == "1:UNAVAILABLE: a: scripted 2:UNAVAILABLE: a: scripted ");
  CHECK(house.cache().Snapshot().used == 0);
  CHECK(house.cache().Snapshot().failures == 1);
  CHECK(house.Text(house.Request("a", version)) == "content");
}

TEST_CASE("A read of the cache has its most urgent waiter's purpose",
          "[cache]") {
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
  REQUIRE_THAT(house.below().reads(), SizeIs(1));
  CHECK(house.below().reads()[0].purpose.urgency == 2);
  CHECK(house.below().reads()[0].purpose.job == 2);
  // The source below learns of the other readers by Share, once its read has a
  // ticket.
  std::vector<std::uint64_t> sharers;
  for (const auto& [ticket, purpose] : house.below().shares()) {
    CHECK(ticket == house.below().reads()[0].ticket);
    sharers.push_back(purpose.job);
  }
  CHECK_THAT(sharers, ElementsAre(5, 7));
  // The source also learns of a reader that joins while the read is in flight.
  auto late = house.Request("a", version, /*job=*/9);
  late.purpose.urgency = 1;
  late.done = Into(&log, "1");
  house.cache().Read({&late, 1});
  REQUIRE_THAT(house.below().shares(), SizeIs(3));
  CHECK(house.below().shares()[2].first == house.below().reads()[0].ticket);
  CHECK(house.below().shares()[2].second.job == 9);
  house.faulty().Release();
  CHECK(log == "5:content 2:content 7:content 1:content ");
}

TEST_CASE("The cache evicts what is wanted last or bypasses the newcomer",
          "[cache]") {
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
  // Sample 1 was evicted for 2, and 3 bypassed the cache.
  CHECK(house.cache().Snapshot().evicted.reads == 1);
  CHECK(house.cache().Snapshot().bypassed.reads == 1);
  CHECK(house.cache().Snapshot().entries == 2);
  house.faulty().Hold();
  CHECK(house.Text(requests[0]) == "1234");
  CHECK(house.Text(requests[2]) == "1234");
  CHECK(house.Text(requests[1]) == "no answer yet");
  house.faulty().Release();
}

TEST_CASE("What readers hold of the cache counts until they let go",
          "[cache]") {
  storage::ReadRequest any;
  any.object = "a";
  any.length = 4;
  const std::uint64_t memory = MemoryFor(any);
  CacheHouse house(memory);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  const auto b = house.Request("b", house.memory().Put("b", "5678"));
  auto cached = house.Read(a);
  // Sample `a` is wanted later than `b`. A reader holds `a`, so `b` is read and
  // not cached.
  auto a_again = a;
  a_again.purpose.next_use_nanos = 1'000'000;
  house.Read(a_again);
  CHECK(house.Text(b) == "5678");
  CHECK(house.Text(b) == "5678");
  CHECK(house.below().times("b") == 2);
  CHECK(house.cache().Snapshot().used == memory);
  cached.reset();
  CHECK(house.Text(b) == "5678");
  CHECK(house.Text(b) == "5678");
  CHECK(house.below().times("b") == 3);
  CHECK(house.cache().Snapshot().used == memory);
}

TEST_CASE("What is being read counts in the cache's memory", "[cache]") {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  house.faulty().Hold();
  house.Read(a);
  CHECK(house.cache().Snapshot().used == MemoryFor(a));
  CHECK(house.cache().Snapshot().reads_in_flight == 1);
  CHECK(house.cache().Snapshot().entries == 0);
  house.faulty().Release();
  CHECK(house.cache().Snapshot().used == MemoryFor(a));
  CHECK(house.cache().Snapshot().entry_bytes == MemoryFor(a));
  CHECK(house.cache().Snapshot().reads_in_flight == 0);
}

TEST_CASE("An object that is larger than the cache is read all the same",
          "[cache]") {
  CacheHouse house(10'000);
  const auto small = house.Request("s", house.memory().Put("s", "small"));
  const auto large =
      house.Request("l", house.memory().Put("l", std::string(20'000, 'x')));
  CHECK(house.Text(small) == "small");
  CHECK(house.Text(large) == std::string(20'000, 'x'));
  CHECK(house.cache().Snapshot().entries == 1);
  CHECK(house.cache().Snapshot().evicted.reads == 0);
}

TEST_CASE("The cache reserves its memory in the budget and gives it back",
          "[cache]") {
  CacheHouse house(10'000);
  CHECK(house.budget().used() == 10'000);
  const auto refused =
      Cache::Create({.capacity = 1, .seed = 1}, {.below = &house.below(),
                                                 .budget = &house.budget(),
                                                 .next_use = &house.next_use(),
                                                 .clock = &house.clock()});
  CHECK_THAT(refused, HasCode(absl::StatusCode::kResourceExhausted));
  auto cached = house.Read(house.Request("a", house.memory().Put("a", "1234")));
  house.DestroyCache();
  // The memory stays reserved as long as any reader holds the bytes.
  CHECK(house.budget().used() == 10'000);
  CHECK(CacheHouse::TextOf(*cached) == "1234");
  cached.reset();
  CHECK(house.budget().used() == 0);
}

TEST_CASE("The cache forgets jobs but not their part in the total", "[cache]") {
  CacheHouse house(kPlenty);
  house.Text(house.Request("a", house.memory().Put("a", "1234"), 4));
  CHECK_THAT(house.cache().Snapshot().jobs, SizeIs(1));
  house.cache().Forget(4);
  CHECK_THAT(house.cache().Snapshot().jobs, IsEmpty());
  CHECK(house.cache().Snapshot().total.source.bytes == 4);
}

TEST_CASE("A forgotten job's reads under way leave no trace in the cache",
          "[cache]") {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"), 4);
  house.faulty().Hold();
  house.Read(a);
  house.cache().Forget(4);
  house.faulty().Release();
  CHECK_THAT(house.cache().Snapshot().jobs, IsEmpty());
  CHECK(house.cache().Snapshot().total.source.bytes == 4);
}

TEST_CASE("Callers of the cache share the reads that they began", "[cache]") {
  CacheHouse house(kPlenty);
  auto cached = house.Request("a", house.memory().Put("a", "1"));
  cached.ticket = storage::NewTicket();
  auto uncached = house.Request("b", house.memory().Put("b", "1"));
  uncached.root = storage::FakeRoot::Make({.uri = "nameless"});
  uncached.ticket = storage::NewTicket();
  house.faulty().Hold();
  for (const auto& request : {cached, uncached}) {
    house.Read(request);
    CHECK(house.below().reads().back().ticket == request.ticket);
    house.cache().Share(request.ticket, {.job = 2});
    CHECK(house.below().shares().back().first == request.ticket);
    CHECK(house.below().shares().back().second.job == 2);
  }
  house.faulty().Release();
}

TEST_CASE("A callback of the cache may read again", "[cache]") {
  CacheHouse house(kPlenty);
  const auto a = house.Request("a", house.memory().Put("a", "1234"));
  std::string inner;
  auto request = a;
  request.done = [&](const absl::StatusOr<storage::ReadResult>&) {
    inner = house.Text(a);
  };
  house.cache().Read({&request, 1});
  CHECK(inner == "1234");
  CHECK(house.below().times("a") == 1);
}

}  // namespace
}  // namespace forebay::cache
