#include "server/storage/coalesced_source.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/coalesced_source_fixture.h"

namespace forebay::storage {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::Each;
using tests::ElementsAre;
using tests::Ge;
using tests::Le;
using tests::SizeIs;

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "Neighbouring requests are one coalesced read whatever their order",
    "[storage][coalesced_source]") {
  Read({Request(100'000, 50'000), Request(0, 49'000), Request(50'000, 49'500)});
  CHECK_THAT(below_.log(), ElementsAre("shard 0+150000"));
  CHECK_THAT(log(), ElementsAre("y", "y", "y"));
}

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "A request that stands alone passes a coalesced source as it is",
    "[storage][coalesced_source]") {
  Read({Request(5, 7)});
  Read({Request(0, 1000), Request(500'000, 1000)});
  CHECK_THAT(below_.log(),
             ElementsAre("shard 5+7", "shard 0+1000", "shard 500000+1000"));
  CHECK_THAT(log(), ElementsAre("y", "y", "y"));
  Read({});
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "Each coalesced request has bytes of its own and no others",
                 "[storage][coalesced_source]") {
  Read({Request(0, 100'000), Request(100'000, 100'000)});
  base::MutexLock lock(&mutex_);
  REQUIRE_THAT(given_, SizeIs(2));
  const auto distance = given_[1].data() - given_[0].data();
  CHECK(distance != 100'000);
  source_.reset();
  CHECK(given_[1].data()[99'999] ==
        static_cast<std::uint8_t>(content_[199'999]));
}

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "A coalesced source reads gaps between requests only while they are small",
    "[storage][coalesced_source]") {
  const auto read = [this](std::uint64_t gap) {
    std::vector<ReadRequest> requests;
    for (int i = 0; i < 5; ++i) requests.push_back(Request(1000 * i, 1000));
    requests.push_back(Request(5000 + gap, 1000));
    Read(std::move(requests));
  };
  read(kMostGap);
  CHECK_THAT(below_.log(), ElementsAre("shard 0+16000"));
  read(kMostGap + 1);
  CHECK_THAT(below_.log(), SizeIs(3));
}

// Joined reads use no more memory than their requests have reserved.
TEST_CASE_METHOD(
    CoalescedSourceTest,
    "A coalesced source reads gaps only as far as memory was set aside",
    "[storage][coalesced_source]") {
  Read({Request(0, 100), Request(100 + 3000, 100)});
  CHECK_THAT(below_.log(), ElementsAre("shard 0+3200"));
  Read({Request(0, 100), Request(100 + 4000, 100)});
  CHECK_THAT(below_.log(), SizeIs(3));
  // Many adjacent requests together have reserved enough for one wide gap.
  std::vector<ReadRequest> many;
  for (int i = 0; i < 10; ++i) many.push_back(Request(100 * i, 100));
  many.push_back(Request(1000 + 9000, 100));
  Read(std::move(many));
  CHECK(below_.log().back() == "shard 0+10100");
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "The ranges that a coalesced source reads have a limit",
                 "[storage][coalesced_source]") {
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(Request(50'000 * i, 50'000));
  requests.push_back(Request(0, kMaxBytes + 1));
  Read(std::move(requests));
  CHECK_THAT(below_.log(),
             ElementsAre("shard 0+1000000", "shard 1000000+1000000",
                         "shard 0+1000001"));
  CHECK_THAT(log(), SizeIs(41));
  CHECK_THAT(log(), Each("y"));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "Overlapping requests share the bytes of one coalesced read",
                 "[storage][coalesced_source]") {
  Read({Request(0, 1000), Request(500, 1000), Request(0, 1000),
        Request(100, 10)});
  CHECK_THAT(below_.log(), ElementsAre("shard 0+1500"));
  CHECK_THAT(log(), ElementsAre("y", "y", "y", "y"));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "Requests of different jobs or objects or versions or roots "
                 "are not coalesced",
                 "[storage][coalesced_source]") {
  MemorySource other;
  auto object = Request(1000, 1000);
  object.object = "other";
  auto version = Request(2000, 1000);
  version.version.stamp += 7;
  auto root = Request(3000, 1000);
  root.root = other.root();
  Read({Request(0, 1000), object, version, root, Request(4000, 1000, 2)});
  CHECK_THAT(below_.log(), SizeIs(5));
  CHECK_THAT(log(), SizeIs(5));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "Requests that the same jobs pay for are one read whomever "
                 "they are counted to",
                 "[storage][coalesced_source]") {
  auto one = Request(0, 1000, 1);
  auto two = Request(1000, 1000, 2);
  for (ReadRequest* const request : {&one, &two}) {
    request->purpose.payers =
        std::make_shared<const std::vector<std::uint64_t>>(
            std::vector<std::uint64_t>{1, 2});
  }
  Read({one, Request(2000, 1000, 2), two});
  CHECK_THAT(below_.log(), ElementsAre("shard 0+2000", "shard 2000+1000"));
  CHECK_THAT(log(), ElementsAre("y", "y", "y"));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "Empty and impossible extents are not coalesced with others",
                 "[storage][coalesced_source]") {
  auto nameless = Request(0, 10);
  nameless.root = nullptr;
  Read({Request(0, 1000), Request(1000, 0), Request(3'999'990, 11),
        Request(UINT64_MAX, 2), nameless, Request(1000, 1000)});
  CHECK_THAT(below_.log(),
             ElementsAre("shard 0+2000", "shard 1000+0", "shard 3999990+11",
                         "shard 18446744073709551615+2", "shard 0+10"));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "A coalesced read takes the place of its most urgent request",
                 "[storage][coalesced_source]") {
  std::vector<ReadRequest> requests;
  for (const std::uint64_t urgency : {7, 3, 9}) {
    requests.push_back(Request(1000 * urgency, 1000));
    requests.back().purpose.urgency = urgency;
    requests.back().purpose.next_use_nanos =
        static_cast<std::int64_t>(100 * urgency);
  }
  requests.push_back(Request(4000, 3000));
  requests.back().purpose.urgency = UINT64_MAX;
  requests.push_back(Request(8000, 1000));
  requests.back().purpose.urgency = UINT64_MAX;
  Read(std::move(requests));
  REQUIRE_THAT(below_.noted(), SizeIs(1));
  CHECK(below_.noted()[0].purpose.job == 1);
  CHECK(below_.noted()[0].purpose.urgency == 3);
  CHECK(below_.noted()[0].purpose.next_use_nanos == 300);
}

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "A job that shares one coalesced request shares all of the coalesced read",
    "[storage][coalesced_source]") {
  faulty_.Hold();
  std::vector<ReadRequest> requests;
  for (std::uint64_t i = 0; i < 3; ++i) {
    requests.push_back(Request(1000 * i, 1000));
    requests.back().ticket = 10 + i;
  }
  requests.push_back(Request(2'000'000, 1000));
  requests.back().ticket = 20;
  Read(std::move(requests));
  const std::uint64_t whole = below_.noted()[0].ticket;
  CHECK_THAT(whole, AllOf(Ge(10), Le(12)));
  for (const std::uint64_t ticket : {10, 11, 12, 20, 30}) {
    source_->Share(ticket, {});
  }
  CHECK_THAT(below_.shared(), ElementsAre(whole, whole, whole, 20, 30));
  faulty_.Release();
  source_->Share(12, {});
  CHECK(below_.shared().back() == 12);
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "All coalesced requests see the revision of their range",
                 "[storage][coalesced_source]") {
  ReadRequest requests[] = {Request(0, 100), Request(100, 100)};
  Revision seen[2];
  const Revision now = {.inode = 3, .ctime_nanos = 4};
  memory_.Rewrite("shard", content_, now);
  for (int i = 0; i < 2; ++i) {
    requests[i].done = [&seen, i](const absl::StatusOr<ReadResult>& result) {
      seen[i] = result->revision;
    };
  }
  source_->Read(absl::MakeSpan(requests));
  CHECK_THAT(seen, ElementsAre(now, now));
}

TEST_CASE("The memory that a coalesced source needs is reserved",
          "[storage][coalesced_source]") {
  MemorySource memory;
  base::MemoryBudget none(std::uint64_t{1} << 20);
  CHECK_THAT(CoalescedSource::Create(&memory, &none).status().ToString(),
             Contains("RESOURCE_EXHAUSTED"));
  base::MemoryBudget budget(std::uint64_t{64} << 20);
  auto source = *CoalescedSource::Create(&memory, &budget);
  CHECK(budget.used() >= HeldBytes(CoalescedSourceOptions().most_bytes));
  source.reset();
  CHECK(budget.used() == 0);
}

TEST_CASE("Small hosts give a coalesced source less memory",
          "[storage][coalesced_source]") {
  MemorySource memory;
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const std::uint64_t limit :
       {kMiB, 64 * kMiB, 150 * kMiB, 64 * 1024 * kMiB}) {
    base::MemoryBudget budget(limit);
    const auto options = CoalescedSourceOptions::For(limit);
    const auto source = *CoalescedSource::Create(&memory, &budget, options);
    CHECK(budget.used() <= limit / 128 + 4096);
    CHECK(budget.used() <= 16 * kMiB);
    CHECK(options.most_bytes >= (limit >= 64 * kMiB ? 150'000 : 0));
  }
  CHECK(CoalescedSourceOptions::For(2048 * kMiB).most_bytes >= 5 * kMiB);
}

// Each of the requests, with any extents, gets one answer with its bytes. The
// reads below hold no more memory than the requests have reserved.
TEST_CASE_METHOD(CoalescedSourceTest,
                 "Coalesced requests for any extents get their bytes",
                 "[storage][coalesced_source]") {
  constexpr std::uint32_t kSeed = 20261122;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<ReadRequest> requests;
    const std::size_t count = 1 + random() % 60;
    const std::uint64_t spread = 1 + random() % content_.size();
    const std::uint64_t longest =
        1 + random() % (repeat % 9 == 0 ? spread : 30'000);
    std::uint64_t set_aside = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t length =
          std::min<std::uint64_t>(random() % longest, spread);
      const std::uint64_t offset = random() % (spread - length + 1);
      requests.push_back(Request(offset, length, 1 + random() % 2));
      requests.back().ticket = random() % 2 * (i + 1);
      set_aside += HeldBytes(length);
    }
    if (repeat % 4 == 0) {
      faulty_.Fail("shard", absl::UnavailableError("shard: passing"));
    }
    const std::size_t before = below_.noted().size();
    Read(std::move(requests));
    std::uint64_t held = 0;
    const auto noted = below_.noted();
    for (std::size_t i = before; i < noted.size(); ++i) {
      held += HeldBytes(noted[i].length);
    }
    REQUIRE(noted.size() - before <= 2 * count);
    if (repeat % 4 != 0) {
      REQUIRE(held <= set_aside);
    }
    base::MutexLock lock(&mutex_);
    CAPTURE(repeat);
    REQUIRE(log_.size() == count);
    const auto good = std::count(log_.begin(), log_.end(), "y");
    REQUIRE(good + (repeat % 4 == 0 ? 1 : 0) >= count);
    log_.clear();
    given_.clear();
  }
}

}  // namespace
}  // namespace forebay::storage
