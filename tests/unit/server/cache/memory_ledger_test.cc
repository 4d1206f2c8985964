#include "server/cache/memory_ledger.h"

#include <thread>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::cache {
namespace {

TEST_CASE("A cache ledger never gives more memory than there is",
          "[cache][ledger]") {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<MemoryLedger>(*budget.Reserve(100, "a test"));
  auto most = ledger->Take(90);
  REQUIRE(most.has_value());
  CHECK_FALSE(ledger->Take(11).has_value());
  CHECK_FALSE(ledger->Take(UINT64_MAX).has_value());
  {
    const auto rest = ledger->Take(10);
    CHECK(rest->bytes() == 10);
    CHECK(ledger->used() == 100);
  }
  CHECK(ledger->used() == 90);
  Charge moved = *std::move(most);
  CHECK(ledger->used() == 90);
  moved = Charge();
  CHECK(ledger->used() == 0);
}

TEST_CASE("Charges outlive the owner of the cache ledger that gave them",
          "[cache][ledger]") {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<MemoryLedger>(*budget.Reserve(100, "a test"));
  auto charge = ledger->Take(1);
  ledger = nullptr;
  CHECK(budget.used() == 100);
  charge.reset();
  CHECK(budget.used() == 0);
}

TEST_CASE("A cache ledger holds its limit against many threads",
          "[cache][ledger]") {
  base::MemoryBudget budget(100);
  auto ledger = std::make_shared<MemoryLedger>(*budget.Reserve(100, "a test"));
  std::atomic<std::uint64_t> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5'000; ++i) {
          const auto charge = ledger->Take(40);
          const std::uint64_t used = ledger->used();
          if (used > 100) most = used;
        }
      });
    }
  }
  CHECK(most <= 100);
  CHECK(ledger->used() == 0);
}

}  // namespace
}  // namespace forebay::cache
