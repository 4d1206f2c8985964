#include "server/storage/coalesced_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string RandomText(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

class CoalescedSourceTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMaxBytes = 1'000'000;
  static constexpr std::uint64_t kMostGap = 10'000;

  CoalescedSourceTest()
      : content_(RandomText(4'000'000, 1)),
        version_(memory_.Put("shard", content_)),
        source_(*CoalescedSource::Create(
            &below_, &budget_,
            {.most_bytes = kMaxBytes, .most_gap = kMostGap})) {}

  // Compares its answer with the bytes of the object. Appends "y" or the error
  // to `log_`.
  ReadRequest Request(std::uint64_t offset, std::uint64_t length,
                      std::uint64_t job = 1) {
    ReadRequest request;
    request.root = memory_.root();
    request.object = "shard";
    request.version = version_;
    request.offset = offset;
    request.length = length;
    request.purpose.job = job;
    request.done = [this, offset, length](absl::StatusOr<ReadResult> result) {
      base::MutexLock lock(&mutex_);
      if (!result.ok()) {
        log_.push_back(result.status().ToString());
        return;
      }
      const std::string text(
          reinterpret_cast<const char*>(result->bytes.data()),
          result->bytes.size());
      log_.push_back(text == content_.substr(offset, length) ? "y" : "wrong");
      given_.push_back(std::move(result->bytes));
    };
    return request;
  }
  void Read(std::vector<ReadRequest> requests) {
    source_->Read(absl::MakeSpan(requests));
  }
  std::vector<std::string> log() const {
    base::MutexLock lock(&mutex_);
    return log_;
  }

  MemorySource memory_;
  const std::string content_;
  const ObjectVersion version_;
  FaultySource faulty_{&memory_};
  NotingSource below_{&faulty_};
  base::MemoryBudget budget_{std::uint64_t{64} << 20};
  std::unique_ptr<CoalescedSource> source_;

  mutable base::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::vector<base::Bytes> given_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(CoalescedSourceTest, NeighboursAreOneReadWhateverTheirOrder) {
  Read({Request(100'000, 50'000), Request(0, 49'000), Request(50'000, 49'500)});
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+150000"));
  EXPECT_THAT(log(), ElementsAre("y", "y", "y"));
}

TEST_F(CoalescedSourceTest, WhoStandsAlonePassesAsItIs) {
  Read({Request(5, 7)});
  Read({Request(0, 1000), Request(500'000, 1000)});
  EXPECT_THAT(below_.log(),
              ElementsAre("shard 5+7", "shard 0+1000", "shard 500000+1000"));
  EXPECT_THAT(log(), ElementsAre("y", "y", "y"));
  Read({});
}

TEST_F(CoalescedSourceTest, EachHasBytesOfItsOwnAndNoOthers) {
  Read({Request(0, 100'000), Request(100'000, 100'000)});
  base::MutexLock lock(&mutex_);
  ASSERT_THAT(given_, SizeIs(2));
  const auto distance = given_[1].data() - given_[0].data();
  EXPECT_NE(distance, 100'000);
  source_.reset();
  EXPECT_EQ(given_[1].data()[99'999],
            static_cast<std::uint8_t>(content_[199'999]));
}

TEST_F(CoalescedSourceTest, GapsAreReadOnlyWhileSmall) {
  const auto read = [this](std::uint64_t gap) {
    std::vector<ReadRequest> requests;
    for (int i = 0; i < 5; ++i) requests.push_back(Request(1000 * i, 1000));
    requests.push_back(Request(5000 + gap, 1000));
    Read(std::move(requests));
  };
  read(kMostGap);
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+16000"));
  read(kMostGap + 1);
  EXPECT_THAT(below_.log(), SizeIs(3));
}

// Requests that are read together use no more memory than they have set aside.
TEST_F(CoalescedSourceTest, GapsAreReadOnlyAsFarAsMemoryWasSetAside) {
  Read({Request(0, 100), Request(100 + 3000, 100)});
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+3200"));
  Read({Request(0, 100), Request(100 + 4000, 100)});
  EXPECT_THAT(below_.log(), SizeIs(3));
  // Many adjacent requests have set aside enough for one wide gap.
  std::vector<ReadRequest> many;
  for (int i = 0; i < 10; ++i) many.push_back(Request(100 * i, 100));
  many.push_back(Request(1000 + 9000, 100));
  Read(std::move(many));
  EXPECT_EQ(below_.log().back(), "shard 0+10100");
}

TEST_F(CoalescedSourceTest, RangesHaveALimit) {
  std::vector<ReadRequest> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(Request(50'000 * i, 50'000));
  requests.push_back(Request(0, kMaxBytes + 1));
  Read(std::move(requests));
  EXPECT_THAT(below_.log(),
              ElementsAre("shard 0+1000000", "shard 1000000+1000000",
                          "shard 0+1000001"));
  EXPECT_THAT(log(), SizeIs(41));
  EXPECT_THAT(log(), ::testing::Each("y"));
}

TEST_F(CoalescedSourceTest, OverlappingOnesShareTheirBytes) {
  Read({Request(0, 1000), Request(500, 1000), Request(0, 1000),
        Request(100, 10)});
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+1500"));
  EXPECT_THAT(log(), ElementsAre("y", "y", "y", "y"));
}

TEST_F(CoalescedSourceTest, OtherJobsObjectsVersionsAndRootsStandApart) {
  MemorySource other;
  auto object = Request(1000, 1000);
  object.object = "other";
  auto version = Request(2000, 1000);
  version.version.stamp += 7;
  auto root = Request(3000, 1000);
  root.root = other.root();
  Read({Request(0, 1000), object, version, root, Request(4000, 1000, 2)});
  EXPECT_THAT(below_.log(), SizeIs(5));
  EXPECT_THAT(log(), SizeIs(5));
}

TEST_F(CoalescedSourceTest, WhatTheSamePayForIsOneReadWhomeverItIsCountedTo) {
  auto one = Request(0, 1000, 1);
  auto two = Request(1000, 1000, 2);
  for (ReadRequest* const request : {&one, &two}) {
    request->purpose.payers =
        std::make_shared<const std::vector<std::uint64_t>>(
            std::vector<std::uint64_t>{1, 2});
  }
  Read({one, Request(2000, 1000, 2), two});
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+2000", "shard 2000+1000"));
  EXPECT_THAT(log(), ElementsAre("y", "y", "y"));
}

TEST_F(CoalescedSourceTest, NothingAndImpossibleExtentsStandApart) {
  auto nameless = Request(0, 10);
  nameless.root = nullptr;
  Read({Request(0, 1000), Request(1000, 0), Request(3'999'990, 11),
        Request(UINT64_MAX, 2), nameless, Request(1000, 1000)});
  EXPECT_THAT(below_.log(),
              ElementsAre("shard 0+2000", "shard 1000+0", "shard 3999990+11",
                          "shard 18446744073709551615+2", "shard 0+10"));
}

TEST_F(CoalescedSourceTest, TheMostUrgentOnesPlaceIsTaken) {
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
  ASSERT_THAT(below_.noted(), SizeIs(1));
  EXPECT_EQ(below_.noted()[0].purpose.job, 1);
  EXPECT_EQ(below_.noted()[0].purpose.urgency, 3);
  EXPECT_EQ(below_.noted()[0].purpose.next_use_nanos, 300);
}

TEST_F(CoalescedSourceTest, WhoSharesOneSharesAllOfIt) {
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
  EXPECT_THAT(whole, ::testing::AllOf(::testing::Ge(10), ::testing::Le(12)));
  for (const std::uint64_t ticket : {10, 11, 12, 20, 30}) {
    source_->Share(ticket, {});
  }
  EXPECT_THAT(below_.shared(), ElementsAre(whole, whole, whole, 20, 30));
  faulty_.Release();
  source_->Share(12, {});
  EXPECT_EQ(below_.shared().back(), 12);
}

TEST_F(CoalescedSourceTest, AllSeeTheRevisionOfTheirRange) {
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
  EXPECT_THAT(seen, ElementsAre(now, now));
}

TEST_F(CoalescedSourceTest, ARangeThatFailsIsReadOneByOne) {
  faulty_.Fail("shard", absl::DataLossError("shard: a bad sector"), 2);
  Read({Request(0, 1000), Request(1000, 1000), Request(2000, 1000)});
  EXPECT_THAT(below_.log(), ElementsAre("shard 0+3000", "shard 0+1000",
                                        "shard 1000+1000", "shard 2000+1000"));
  EXPECT_THAT(log(), ElementsAre("DATA_LOSS: shard: a bad sector", "y", "y"));
}

TEST_F(CoalescedSourceTest, WhoJoinedARangeThatFailsHasJoinedWhatIsReadAgain) {
  faulty_.Hold();
  std::vector<ReadRequest> requests;
  for (std::uint64_t i = 0; i < 3; ++i) {
    requests.push_back(Request(1000 * i, 1000));
    requests.back().ticket = 10 + i;
  }
  Read(std::move(requests));
  const std::uint64_t whole = below_.noted()[0].ticket;
  source_->Share(11, {.job = 2});
  source_->Share(12, {.job = 3});
  source_->Share(12, {.job = 4});
  EXPECT_THAT(below_.shared(), ElementsAre(whole, whole, whole));
  faulty_.Fail("shard", absl::DataLossError("shard: a bad sector"));
  // Another job joins when the first request is read again.
  below_.set_on_read([this] { source_->Share(11, {.job = 5}); });
  faulty_.Release();
  EXPECT_THAT(log(), ElementsAre("y", "y", "y"));
  EXPECT_THAT(below_.shared(),
              ElementsAre(whole, whole, whole, 11, 11, 11, 12, 12));
  EXPECT_THAT(below_.sharers(), ElementsAre(2, 3, 4, 5, 2, 5, 3, 4));
}

TEST_F(CoalescedSourceTest, WhatChangedIsAnErrorForEach) {
  memory_.Put("shard", "changed");
  Read({Request(0, 1000), Request(1000, 1000)});
  EXPECT_THAT(log(), ElementsAre(HasSubstr("FAILED_PRECONDITION: shard"),
                                 HasSubstr("FAILED_PRECONDITION: shard")));
}

TEST_F(CoalescedSourceTest, NothingIsReadAgainOnceStopped) {
  faulty_.Fail("shard", absl::CancelledError("shard: is ending"));
  Read({Request(0, 1000), Request(1000, 1000)});
  source_->Stop();
  faulty_.Fail("shard", absl::UnavailableError("shard: is ending"));
  Read({Request(0, 1000), Request(1000, 1000)});
  EXPECT_THAT(below_.log(), SizeIs(2));
  EXPECT_THAT(log(), SizeIs(4));
  EXPECT_THAT(log(), ::testing::Each(HasSubstr("CANCELLED: shard")));
}

TEST_F(CoalescedSourceTest, DestructionWaitsForWhatIsUnderWay) {
  faulty_.Hold();
  Read({Request(0, 1000), Request(1000, 1000)});
  std::jthread destroyer([this] { source_.reset(); });
  faulty_.Release();
  destroyer.join();
  EXPECT_THAT(log(), ElementsAre("y", "y"));
}

TEST(CoalescedSourceBudgetTest, WhatItNeedsIsReserved) {
  MemorySource memory;
  base::MemoryBudget none(std::uint64_t{1} << 20);
  EXPECT_THAT(CoalescedSource::Create(&memory, &none).status().ToString(),
              HasSubstr("RESOURCE_EXHAUSTED"));
  base::MemoryBudget budget(std::uint64_t{64} << 20);
  auto source = *CoalescedSource::Create(&memory, &budget);
  EXPECT_GE(budget.used(), HeldBytes(CoalescedSourceOptions().most_bytes));
  source.reset();
  EXPECT_EQ(budget.used(), 0);
}

TEST(CoalescedSourceBudgetTest, SmallHostsGiveItLess) {
  MemorySource memory;
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const std::uint64_t limit :
       {kMiB, 64 * kMiB, 150 * kMiB, 64 * 1024 * kMiB}) {
    base::MemoryBudget budget(limit);
    const auto options = CoalescedSourceOptions::For(limit);
    const auto source = *CoalescedSource::Create(&memory, &budget, options);
    EXPECT_LE(budget.used(), limit / 128 + 4096);
    EXPECT_LE(budget.used(), 16 * kMiB);
    EXPECT_GE(options.most_bytes, limit >= 64 * kMiB ? 150'000 : 0);
  }
  EXPECT_GE(CoalescedSourceOptions::For(2048 * kMiB).most_bytes, 5 * kMiB);
}

// Requests for any extents each get one answer, with their bytes. The reads
// below hold no more memory than the requests have set aside.
TEST_F(CoalescedSourceTest, AnyExtentsGetTheirBytes) {
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
    ASSERT_LE(noted.size() - before, 2 * count);
    if (repeat % 4 != 0) {
      ASSERT_LE(held, set_aside);
    }
    base::MutexLock lock(&mutex_);
    ASSERT_EQ(log_.size(), count) << repeat;
    const auto good = std::count(log_.begin(), log_.end(), "y");
    ASSERT_GE(good + (repeat % 4 == 0 ? 1 : 0), count) << repeat;
    log_.clear();
    given_.clear();
  }
}

}  // namespace
}  // namespace forebay::storage
