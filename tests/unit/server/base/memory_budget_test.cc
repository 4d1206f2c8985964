#include "server/base/memory_budget.h"

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

TEST_CASE("A memory reservation gives back its bytes on destruction",
          "[base][memory_budget]") {
  MemoryBudget budget(100);
  {
    const auto reservation = budget.Reserve(60, "a slot");
    REQUIRE_THAT(reservation, IsOk());
    CHECK(reservation->bytes() == 60);
    CHECK(budget.used() == 60);
  }
  CHECK(budget.used() == 0);
  CHECK(budget.limit() == 100);
}

TEST_CASE("A memory budget refuses what would pass the limit",
          "[base][memory_budget]") {
  MemoryBudget budget(100 << 20);
  const auto first = budget.Reserve(60 << 20, "a slot");
  const auto second = budget.Reserve(41 << 20, "decoder scratch");
  CHECK_THAT(second, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(std::string(second.status().message()),
             Contains("decoder scratch: it needs 41 MiB, and 60 of 100 MiB"));
  CHECK_THAT(budget.Reserve(40 << 20, "what is left"), IsOk());
  CHECK_FALSE(budget.Reserve(UINT64_MAX, "all").ok());
}

TEST_CASE("Moved memory reservations are given back once",
          "[base][memory_budget]") {
  MemoryBudget budget(100);
  MemoryReservation a = *budget.Reserve(10, "a");
  MemoryReservation b = *budget.Reserve(20, "b");
  a = std::move(b);
  CHECK(budget.used() == 20);
  MemoryReservation c(std::move(a));
  CHECK(budget.used() == 20);
  c.Release();
  c.Release();
  CHECK(budget.used() == 0);
}

TEST_CASE("Memory reservations grow and shrink", "[base][memory_budget]") {
  MemoryBudget budget(100);
  MemoryReservation a = *budget.Reserve(10, "a");
  a.Add(*budget.Reserve(20, "b"));
  a.Add({});
  CHECK(a.bytes() == 30);
  a.ShrinkTo(12);
  CHECK(a.bytes() == 12);
  CHECK(budget.used() == 12);
  MemoryReservation none;
  none.Add(std::move(a));
  CHECK(none.bytes() == 12);
  none.Release();
  CHECK(budget.used() == 0);
}

TEST_CASE("A spare reservation leaves as much of the memory budget as it takes",
          "[base][memory_budget]") {
  MemoryBudget budget(100);
  const auto first = budget.ReserveSpare(50);
  REQUIRE(first.has_value());
  CHECK_FALSE(budget.ReserveSpare(26).has_value());
  CHECK_FALSE(budget.ReserveSpare(UINT64_MAX).has_value());
  const auto second = budget.ReserveSpare(25);
  REQUIRE(second.has_value());
  CHECK(budget.used() == 75);
}

TEST_CASE("The limit of a memory budget is never passed",
          "[base][memory_budget]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  constexpr std::uint64_t kLimit = 1000;
  MemoryBudget budget(kLimit);
  std::atomic<std::uint64_t> held = 0;
  std::atomic<int> breaches = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(seed + thread);
        for (int i = 0; i < 5000; ++i) {
          const std::uint64_t bytes = random() % 600;
          const auto reservation = budget.Reserve(bytes, "test");
          if (!reservation.ok()) continue;
          if (held.fetch_add(bytes) + bytes > kLimit) ++breaches;
          held -= bytes;
        }
      });
  }
  CHECK(breaches == 0);
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace forebay::base
