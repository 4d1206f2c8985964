#include "server/stream/read_budget.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("A read budget gives back what the bytes in flight do without",
          "[stream][read_budget]") {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  CHECK(read_budget.window() == 100);
  CHECK(read_budget.Resize(300));
  CHECK(budget.used() == 300);
  read_budget.Enter(250);
  UNSCOPED_INFO("at least its least");
  CHECK(read_budget.Resize(50));
  CHECK(read_budget.window() == 100);
  UNSCOPED_INFO("they are still there");
  CHECK(budget.used() == 250);
  read_budget.Leave(60);
  CHECK(budget.used() == 190);
  read_budget.Leave(190);
  CHECK(budget.used() == 100);
}

TEST_CASE("A closed read budget holds what is in flight alone",
          "[stream][read_budget]") {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  read_budget.Enter(30);
  read_budget.Close();
  CHECK(budget.used() == 30);
  CHECK_FALSE(read_budget.Resize(200));
  read_budget.Leave(30);
  CHECK(budget.used() == 0);
  CHECK_THAT(read_budget.Open(), IsOk());
  CHECK(read_budget.window() == 100);
  CHECK(budget.used() == 100);
  read_budget.Enter(30);
  read_budget.Close();
  CHECK_THAT(read_budget.Open(), IsOk());
  UNSCOPED_INFO("what is in flight is in it");
  CHECK(budget.used() == 100);
}

TEST_CASE("A read budget opens with what is in flight still",
          "[stream][read_budget]") {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  REQUIRE(read_budget.Resize(400));
  read_budget.Enter(400);
  read_budget.Close();
  auto others = budget.Reserve(600, "others");
  CHECK_THAT(read_budget.Open(), IsOk());
  CHECK(budget.used() == 1000);
  read_budget.Close();
  read_budget.Leave(400);
  CHECK(budget.used() == 600);
  others = budget.Reserve(350, "more");
  REQUIRE_THAT(others, IsOk());
  CHECK_THAT(read_budget.Open(), IsOk());
  read_budget.Close();
  const auto rest = budget.Reserve(600, "the rest");
  REQUIRE_THAT(rest, IsOk());
  CHECK_THAT(read_budget.Open(), HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget.used() == 950);
}

TEST_CASE("A read budget without more memory stays as it is",
          "[stream][read_budget]") {
  base::MemoryBudget budget(1000);
  ReadBudget read_budget(&budget, *budget.Reserve(100, "reads"));
  REQUIRE(read_budget.Resize(200));
  const auto others = budget.Reserve(700, "others");
  UNSCOPED_INFO("all that is left");
  CHECK_FALSE(read_budget.Resize(260));
  CHECK(read_budget.window() == 200);
  CHECK(budget.used() == 900);
  CHECK(read_budget.Resize(250));
}

TEST_CASE(
    "A read budget holds what is in flight and keeps nothing else for long",
    "[stream][read_budget]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  base::MemoryBudget budget(10'000);
  for (int round = 0; round < 20; ++round) {
    {
      ReadBudget read_budget(&budget, *budget.Reserve(500, "reads"));
      base::MemoryReservation others;
      std::deque<std::uint64_t> flights;
      for (int step = 0; step < 2'000; ++step) {
        if (random() % 10 == 0) read_budget.Resize(random() % 6'000);
        if (random() % 50 == 0) {
          others.Release();
          auto taken = budget.Reserve(random() % 9'000, "others");
          if (taken.ok()) others = *std::move(taken);
        }
        const std::uint64_t bytes = random() % 500;
        if (random() % 2 == 0 &&
            read_budget.in_flight() + bytes <= read_budget.window()) {
          read_budget.Enter(bytes);
          flights.push_back(bytes);
        } else if (!flights.empty()) {
          read_budget.Leave(flights.front());
          flights.pop_front();
        }
        REQUIRE(budget.used() - others.bytes() ==
                std::max(read_budget.window(), read_budget.in_flight()));
      }
      for (const std::uint64_t bytes : flights) read_budget.Leave(bytes);
      REQUIRE(read_budget.Resize(0));
      CHECK(budget.used() - others.bytes() == 500);
    }
    CHECK(budget.used() == 0);
  }
}

}  // namespace
}  // namespace forebay::stream
