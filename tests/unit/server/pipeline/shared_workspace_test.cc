#include "server/pipeline/shared_workspace.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay::pipeline {
namespace {

TEST(SharedWorkspaceTest, HasOneBorrowerAtATime) {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  int told = 0;
  auto first = shared.Borrow([] { ADD_FAILURE() << "was not refused"; });
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->limits().scratch_bytes, 1 << 20);
  EXPECT_EQ(shared.Borrow([&] { ++told; }), nullptr);
  EXPECT_EQ(shared.Borrow([&] { ++told; }), nullptr);
  EXPECT_EQ(told, 0);
  first.reset();
  EXPECT_EQ(told, 2);
  auto second = shared.Borrow([] {});
  ASSERT_NE(second, nullptr);
  second.reset();
  EXPECT_EQ(told, 2);
}

TEST(SharedWorkspaceTest, MayBeBorrowedAgainByWhoIsTold) {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  SharedWorkspace::Loan again;
  bool refused = false;
  auto loan = shared.Borrow([] {});
  shared.Borrow([&] { again = shared.Borrow([] {}); });
  shared.Borrow([&] { refused = shared.Borrow([] {}) == nullptr; });
  loan.reset();
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(refused);
}

TEST(SharedWorkspaceTest, IsLentToOneOfManyThreads) {
  SharedWorkspace shared{{.scratch_bytes = 1 << 20}};
  int borrowers = 0;  // guarded by the loan
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 1000; ++turn) {
        const auto loan = shared.Borrow([] {});
        if (loan == nullptr) continue;
        EXPECT_EQ(++borrowers, 1);
        --borrowers;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace forebay::pipeline
