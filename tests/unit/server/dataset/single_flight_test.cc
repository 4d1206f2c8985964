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

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset {
namespace {

using tests::HasCode;

using Ints = SingleFlight<std::string, int>;
using Found = absl::StatusOr<Ints::ItemPtr>;

TEST_CASE("A single-flight search knows the item that is held",
          "[dataset][single_flight]") {
  Ints ints;
  const auto find = [&](int number) {
    return *ints.Find(
        "a", "a", {}, [&](const Ints::Start& start, const std::stop_token&) {
          CHECK_FALSE(start.waited);
          return start.item != nullptr ? start.item
                                       : std::make_shared<const int>(number);
        });
  };
  Ints::ItemPtr one = find(1);
  CHECK(find(2) == one);
  int seen = 0;
  const auto visit = [&](const std::string& key, int item) {
    CHECK(key == "a");
    seen += item;
  };
  ints.ForEach(visit);
  CHECK(seen == 1);
  one = nullptr;
  ints.ForEach(visit);
  UNSCOPED_INFO("nobody holds it");
  CHECK(seen == 1);
  CHECK(*find(3) == 3);
}

TEST_CASE("A single-flight search may be the last that holds the known item",
          "[dataset][single_flight]") {
  Ints ints;
  auto held =
      *ints.Find("a", "a", {}, [](const Ints::Start&, const std::stop_token&) {
        return std::make_shared<const int>(1);
      });
  const std::weak_ptr<const int> first = held;
  held =
      *ints.Find("a", "a", {}, [&](Ints::Start start, const std::stop_token&) {
        held.reset();
        CHECK(start.item.use_count() == 1);
        start.item.reset();
        CHECK(first.expired());
        return std::make_shared<const int>(2);
      });
  CHECK(*held == 2);
}

TEST_CASE("A single flight lets one caller search and the others find its item",
          "[dataset][single_flight]") {
  Ints ints;
  constexpr int kCallers = 8;
  std::latch start(kCallers);
  std::atomic<int> searches = 0;
  std::atomic<int> waited = 0;
  std::vector<Ints::ItemPtr> found(kCallers);
  std::vector<std::jthread> threads;
  for (Ints::ItemPtr& item : found) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      item = *ints.Find("a", "a", {},
                        [&](const Ints::Start& start, const std::stop_token&) {
                          if (start.item != nullptr) return start.item;
                          if (start.waited) ++waited;
                          ++searches;
                          return std::make_shared<const int>(1);
                        });
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(searches == 1);
  CHECK(waited == 0);
  for (const Ints::ItemPtr& item : found) CHECK(item == found[0]);
}

TEST_CASE("A single-flight search stops when all of its callers have stopped",
          "[dataset][single_flight]") {
  Ints ints;
  std::stop_source first, second;
  std::latch searching(1);
  std::latch stopped(1);
  Found searched;
  std::jthread searcher([&] {
    searched = ints.Find(
        "a", "a", first.get_token(),
        [&](const Ints::Start&, const std::stop_token& stop) -> Found {
          const std::stop_callback on_stop(stop, [&] { stopped.count_down(); });
          searching.count_down();
          stopped.wait();
          return absl::CancelledError("stopped");
        });
  });
  searching.wait();
  Found waited = std::make_shared<const int>(0);
  std::jthread waiter([&] {
    waited = ints.Find("a", "gs://a", second.get_token(),
                       [](const Ints::Start&, const std::stop_token&) -> Found {
                         return absl::InternalError("it has stopped");
                       });
  });
  second.request_stop();
  waiter.join();
  CHECK(waited.status() == absl::CancelledError("gs://a: was not looked into"));
  UNSCOPED_INFO("the first caller wants it");
  CHECK_FALSE(stopped.try_wait());
  first.request_stop();
  searcher.join();
  CHECK_THAT(searched, HasCode(absl::StatusCode::kCancelled));
}

// A source that takes reads and never answers.
class SilentSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest>) override {}
};

using Jobs = std::vector<std::uint64_t>;

TEST_CASE("All jobs that wait for a search pay for it",
          "[dataset][single_flight]") {
  Ints ints;
  SilentSource silent;
  storage::PaidSource first_reads(&silent, 1), second_reads(&silent, 2);
  std::stop_source first, second;
  std::latch searching(1), found(1);
  Jobs at_begin;
  std::jthread searcher([&] {
    const auto ignored =
        ints.Find("a", "a", {first.get_token(), &first_reads},
                  [&](const Ints::Start&, const std::stop_token&) -> Found {
                    at_begin = *first_reads.payers();
                    searching.count_down();
                    found.wait();
                    return absl::NotFoundError("no");
                  });
  });
  searching.wait();
  CHECK(at_begin == Jobs{1});
  Jobs of_second;
  std::jthread waiter([&] {
    const auto ignored =
        ints.Find("a", "a", {second.get_token(), &second_reads},
                  [&](const Ints::Start&, const std::stop_token&) -> Found {
                    of_second = *second_reads.payers();
                    return std::make_shared<const int>(1);
                  });
  });
  while (*first_reads.payers() != Jobs{1, 2}) std::this_thread::yield();
  // The search goes on, now only for the second caller.
  first.request_stop();
  CHECK(*first_reads.payers() == Jobs{2});
  found.count_down();
  searcher.join();
  waiter.join();
  UNSCOPED_INFO("its further reads are its own");
  CHECK(*first_reads.payers() == Jobs{1});
  CHECK(of_second == Jobs{2});
  CHECK(*second_reads.payers() == Jobs{2});
}

TEST_CASE(
    "A job that leaves a search pays no more and one that waited pays for the "
    "next",
    "[dataset][single_flight]") {
  Ints ints;
  SilentSource silent;
  storage::PaidSource first_reads(&silent, 1), second_reads(&silent, 2),
      third_reads(&silent, 3);
  std::stop_source third;
  std::latch searching(1), found(1), second_searching(1), end(1);
  std::jthread searcher([&] {
    const auto ignored =
        ints.Find("a", "a", {{}, &first_reads},
                  [&](const Ints::Start&, const std::stop_token&) -> Found {
                    searching.count_down();
                    found.wait();
                    return absl::NotFoundError("no");
                  });
  });
  searching.wait();
  const auto await = [&](storage::PaidSource* reads, std::stop_token stop) {
    const auto ignored =
        ints.Find("a", "a", {std::move(stop), reads},
                  [&](const Ints::Start&, const std::stop_token&) -> Found {
                    second_searching.count_down();
                    end.wait();
                    return absl::NotFoundError("no");
                  });
  };
  std::jthread waiter(await, &second_reads, std::stop_token());
  while (first_reads.payers()->size() != 2) std::this_thread::yield();
  std::jthread leaver(await, &third_reads, third.get_token());
  while (first_reads.payers()->size() != 3) std::this_thread::yield();
  third.request_stop();
  leaver.join();
  CHECK(*first_reads.payers() == Jobs{1, 2});
  found.count_down();
  second_searching.wait();
  searcher.join();
  CHECK(*second_reads.payers() == Jobs{2});
  end.count_down();
  waiter.join();
}

TEST_CASE(
    "A single flight's waiting callers do not ask a host again that does not "
    "answer",
    "[dataset][single_flight]") {
  Ints ints;
  constexpr int kCallers = 8;
  std::atomic<int> entered = 0;
  std::atomic<int> waited = 0;
  std::vector<Found> found(kCallers, absl::UnknownError("not found"));
  std::vector<std::jthread> threads;
  for (Found& each : found) {
    threads.emplace_back([&] {
      // The first search ends once all other callers have come. A caller that
      // does not wait by then starts a new search.
      ++entered;
      each = ints.Find("a", "a", {},
                       [&](const Ints::Start& start, const std::stop_token&) {
                         if (start.waited) ++waited;
                         while (entered < kCallers) std::this_thread::yield();
                         return Found(absl::UnavailableError("no answer"));
                       });
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(waited == 0);
  for (const Found& each : found)
    CHECK_THAT(each, HasCode(absl::StatusCode::kUnavailable));
  // A later caller searches again.
  CHECK(
      **ints.Find("a", "a", {}, [](const Ints::Start&, const std::stop_token&) {
        return Found(std::make_shared<const int>(4));
      }) == 4);
}

TEST_CASE("A failed single-flight search is tried again",
          "[dataset][single_flight]") {
  Ints ints;
  const auto find = [&](Found found) {
    return ints.Find(
        "a", "a", {},
        [&](const Ints::Start&, const std::stop_token&) { return found; });
  };
  CHECK(find(absl::NotFoundError("no")).status() == absl::NotFoundError("no"));
  CHECK(**find(std::make_shared<const int>(4)) == 4);
}

}  // namespace
}  // namespace forebay::dataset
