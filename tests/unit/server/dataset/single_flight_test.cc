#include "server/dataset/single_flight.h"

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

using Ints = SingleFlight<std::string, int>;
using Found = absl::StatusOr<Ints::ItemPtr>;

TEST(SingleFlightTest, ASearchKnowsWhatIsHeld) {
  Ints ints;
  const auto find = [&](int number) {
    return *ints.Find(
        "a", "a", {}, [&](const Ints::Known& known, const std::stop_token&) {
          EXPECT_FALSE(known.waited);
          return known.item != nullptr ? known.item
                                       : std::make_shared<const int>(number);
        });
  };
  Ints::ItemPtr one = find(1);
  EXPECT_EQ(find(2), one);
  int seen = 0;
  const auto visit = [&](const std::string& key, int item) {
    EXPECT_EQ(key, "a");
    seen += item;
  };
  ints.ForEach(visit);
  EXPECT_EQ(seen, 1);
  one = nullptr;
  ints.ForEach(visit);
  EXPECT_EQ(seen, 1) << "nobody holds it";
  EXPECT_EQ(*find(3), 3);
}

TEST(SingleFlightTest, ASearchMayBeTheLastThatHoldsTheKnownItem) {
  Ints ints;
  auto held =
      *ints.Find("a", "a", {}, [](const Ints::Known&, const std::stop_token&) {
        return std::make_shared<const int>(1);
      });
  const std::weak_ptr<const int> first = held;
  held =
      *ints.Find("a", "a", {}, [&](Ints::Known known, const std::stop_token&) {
        held.reset();
        EXPECT_EQ(known.item.use_count(), 1);
        known.item.reset();
        EXPECT_TRUE(first.expired());
        return std::make_shared<const int>(2);
      });
  EXPECT_EQ(*held, 2);
}

TEST(SingleFlightTest, OneCallerSearchesAndTheOthersFindItsItem) {
  Ints ints;
  constexpr int kCallers = 8;
  std::latch start(kCallers);
  std::atomic<int> searches = 0;
  std::vector<Ints::ItemPtr> found(kCallers);
  std::vector<std::thread> threads;
  for (Ints::ItemPtr& item : found) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      item = *ints.Find("a", "a", {},
                        [&](const Ints::Known& known, const std::stop_token&) {
                          if (known.item != nullptr) return known.item;
                          EXPECT_FALSE(known.waited);
                          ++searches;
                          return std::make_shared<const int>(1);
                        });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(searches, 1);
  for (const Ints::ItemPtr& item : found) EXPECT_EQ(item, found[0]);
}

TEST(SingleFlightTest, ASearchStopsWhenAllCallersHave) {
  Ints ints;
  std::stop_source first, second;
  std::latch searching(1);
  std::latch stopped(1);
  Found searched;
  std::thread searcher([&] {
    searched = ints.Find(
        "a", "a", first.get_token(),
        [&](const Ints::Known&, const std::stop_token& stop) -> Found {
          const std::stop_callback on_stop(stop, [&] { stopped.count_down(); });
          searching.count_down();
          stopped.wait();
          return absl::CancelledError("stopped");
        });
  });
  searching.wait();
  Found waited = std::make_shared<const int>(0);
  std::thread waiter([&] {
    waited = ints.Find("a", "gs://a", second.get_token(),
                       [](const Ints::Known&, const std::stop_token&) -> Found {
                         return absl::InternalError("it has stopped");
                       });
  });
  second.request_stop();
  waiter.join();
  EXPECT_EQ(waited.status(),
            absl::CancelledError("gs://a: was not looked into"));
  EXPECT_FALSE(stopped.try_wait()) << "the first caller wants it";
  first.request_stop();
  searcher.join();
  EXPECT_TRUE(absl::IsCancelled(searched.status()));
}

// Takes reads, and gives nothing.
class SilentSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest>) override {}
};

using Jobs = std::vector<std::uint64_t>;

TEST(SingleFlightTest, AllWhoWaitForASearchPayForIt) {
  Ints ints;
  SilentSource silent;
  storage::PaidSource first_reads(&silent, 1), second_reads(&silent, 2);
  std::stop_source first, second;
  std::latch searching(1), found(1);
  Jobs at_begin;
  std::thread searcher([&] {
    const auto ignored =
        ints.Find("a", "a", {first.get_token(), &first_reads},
                  [&](const Ints::Known&, const std::stop_token&) -> Found {
                    at_begin = *first_reads.payers();
                    searching.count_down();
                    found.wait();
                    return absl::NotFoundError("no");
                  });
  });
  searching.wait();
  EXPECT_EQ(at_begin, Jobs{1});
  Jobs of_second;
  std::thread waiter([&] {
    const auto ignored =
        ints.Find("a", "a", {second.get_token(), &second_reads},
                  [&](const Ints::Known&, const std::stop_token&) -> Found {
                    of_second = *second_reads.payers();
                    return std::make_shared<const int>(1);
                  });
  });
  while (*first_reads.payers() != Jobs{1, 2}) std::this_thread::yield();
  // The search goes on for the second alone.
  first.request_stop();
  EXPECT_EQ(*first_reads.payers(), Jobs{2});
  found.count_down();
  searcher.join();
  waiter.join();
  EXPECT_EQ(*first_reads.payers(), Jobs{1}) << "its further reads are its own";
  EXPECT_EQ(of_second, Jobs{2});
  EXPECT_EQ(*second_reads.payers(), Jobs{2});
}

TEST(SingleFlightTest, WhoLeavesPaysNoMoreAndWhoWaitedPaysForTheNextSearch) {
  Ints ints;
  SilentSource silent;
  storage::PaidSource first_reads(&silent, 1), second_reads(&silent, 2),
      third_reads(&silent, 3);
  std::stop_source third;
  std::latch searching(1), found(1), second_searching(1), end(1);
  std::thread searcher([&] {
    const auto ignored =
        ints.Find("a", "a", {{}, &first_reads},
                  [&](const Ints::Known&, const std::stop_token&) -> Found {
                    searching.count_down();
                    found.wait();
                    return absl::NotFoundError("no");
                  });
  });
  searching.wait();
  const auto await = [&](storage::PaidSource* reads, std::stop_token stop) {
    const auto ignored =
        ints.Find("a", "a", {std::move(stop), reads},
                  [&](const Ints::Known&, const std::stop_token&) -> Found {
                    second_searching.count_down();
                    end.wait();
                    return absl::NotFoundError("no");
                  });
  };
  std::thread waiter(await, &second_reads, std::stop_token());
  while (first_reads.payers()->size() != 2) std::this_thread::yield();
  std::thread leaver(await, &third_reads, third.get_token());
  while (first_reads.payers()->size() != 3) std::this_thread::yield();
  third.request_stop();
  leaver.join();
  EXPECT_EQ(*first_reads.payers(), (Jobs{1, 2}));
  found.count_down();
  second_searching.wait();
  searcher.join();
  EXPECT_EQ(*second_reads.payers(), Jobs{2});
  end.count_down();
  waiter.join();
}

TEST(SingleFlightTest, NobodyWhoWaitedAsksAHostAgainThatDoesNotAnswer) {
  Ints ints;
  constexpr int kCallers = 8;
  std::atomic<int> entered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back([&] {
      // The first search ends once all others have come. Who has not begun to
      // wait by then searches anew.
      ++entered;
      const Found found = ints.Find(
          "a", "a", {}, [&](const Ints::Known& known, const std::stop_token&) {
            EXPECT_FALSE(known.waited);
            while (entered < kCallers) std::this_thread::yield();
            return Found(absl::UnavailableError("no answer"));
          });
      EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Later callers ask again.
  EXPECT_EQ(**ints.Find("a", "a", {},
                        [](const Ints::Known&, const std::stop_token&) {
                          return Found(std::make_shared<const int>(4));
                        }),
            4);
}

TEST(SingleFlightTest, AFailedSearchIsTriedAgain) {
  Ints ints;
  const auto find = [&](Found found) {
    return ints.Find(
        "a", "a", {},
        [&](const Ints::Known&, const std::stop_token&) { return found; });
  };
  EXPECT_EQ(find(absl::NotFoundError("no")).status(),
            absl::NotFoundError("no"));
  EXPECT_EQ(**find(std::make_shared<const int>(4)), 4);
}

}  // namespace
}  // namespace forebay::dataset
