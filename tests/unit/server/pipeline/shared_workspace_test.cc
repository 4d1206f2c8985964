#include "server/pipeline/shared_workspace.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::pipeline {
namespace {

TEST_CASE("A shared workspace has one borrower at a time",
          "[pipeline][shared_workspace]") {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  int told = 0;
  auto first = shared.Borrow([] { FAIL_CHECK("was not refused"); });
  REQUIRE(first != nullptr);
  CHECK(first->limits().scratch_bytes == 1 << 20);
  CHECK(shared.Borrow([&] { ++told; }) == nullptr);
  CHECK(shared.Borrow([&] { ++told; }) == nullptr);
  CHECK(told == 0);
  first.reset();
  CHECK(told == 2);
  auto second = shared.Borrow([] {});
  REQUIRE(second != nullptr);
  second.reset();
  CHECK(told == 2);
}

TEST_CASE(
    "A shared workspace may be borrowed again by whoever is told that it is "
    "free",
    "[pipeline][shared_workspace]") {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  SharedWorkspace::Loan again;
  bool refused = false;
  auto loan = shared.Borrow([] {});
  shared.Borrow([&] { again = shared.Borrow([] {}); });
  shared.Borrow([&] { refused = shared.Borrow([] {}) == nullptr; });
  loan.reset();
  CHECK(again != nullptr);
  CHECK(refused);
}

TEST_CASE("A shared workspace is lent to one of many threads at a time",
          "[pipeline][shared_workspace]") {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  int borrowers = 0;  // guarded by the loan
  std::atomic<int> most = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 1000; ++turn) {
        const auto loan = shared.Borrow([] {});
        if (loan == nullptr) continue;
        if (++borrowers > most) most = borrowers;
        --borrowers;
      }
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(most == 1);
}

}  // namespace
}  // namespace forebay::pipeline
