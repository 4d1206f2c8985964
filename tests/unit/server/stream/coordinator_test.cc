#include "server/stream/coordinator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "server/base/memory_budget.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSize = 100;
constexpr std::uint64_t kFormBytes = 1000;
constexpr std::uint64_t kRoom = kSize * kFormBytes;
constexpr std::uint64_t kSeed = 7;

class CoordinatorTest : public testing::Test {
 protected:
  std::shared_ptr<const base::IndexList> List(
      const std::vector<std::uint64_t>& numbers) {
    return base::MakeList(numbers, kSize, &budget_);
  }

  std::shared_ptr<Coordinator::OrderMember> Join() const {
    return coordinator_->Join({});
  }

  base::MemoryBudget budget_{1 << 20};
  const std::shared_ptr<Coordinator> coordinator_ =
      std::make_shared<Coordinator>(kSize, kRoom, kSeed, &budget_);
};

TEST_F(CoordinatorTest, NoBudgetHasTheBytesOfVeryManySamples) {
  EXPECT_LT(Coordinator::BytesOfMember(1000), 20000u);
  // So many need 17 / 2 bytes each, which wraps around.
  EXPECT_EQ(Coordinator::BytesOfMember(2170205185142300188), UINT64_MAX);
}

TEST_F(CoordinatorTest, WhatOneHasMadeTheOthersTakeNext) {
  const auto first = Join();
  const auto second = Join();
  std::set<std::uint64_t> made;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t sample = first->At(i);
    EXPECT_EQ(first->At(i), sample);  // asking again changes nothing
    EXPECT_EQ(first->PositionOf(sample), i);
    EXPECT_TRUE(first->IsAwaited(sample));
    first->Kept(sample, kFormBytes);
    made.insert(sample);
  }
  EXPECT_EQ(made.size(), 10);
  // The second member wants these samples soon, and all others by the end of
  // the epoch.
  EXPECT_EQ(second->PositionOf(*made.begin()), 11);
  std::uint64_t other = 0;
  while (made.contains(other)) ++other;
  EXPECT_EQ(second->PositionOf(other), kSize);
  // The second has at least as much left as the first, so it may also draw
  // samples that nobody has made.
  int taken = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t sample = second->At(i);
    if (!made.contains(sample)) continue;
    ++taken;
    EXPECT_FALSE(second->IsAwaited(sample));
    second->Found(sample);
  }
  EXPECT_GE(taken, 5);
}

TEST_F(CoordinatorTest, WhatIsMissedIsCheapNoLonger) {
  const auto first = Join();
  const auto second = Join();
  const std::uint64_t sample = first->At(0);
  first->Kept(sample, kFormBytes);
  EXPECT_EQ(second->PositionOf(sample), 2);
  first->Missed(sample);
  EXPECT_EQ(second->PositionOf(sample), kSize);
}

TEST_F(CoordinatorTest, KnowsOfNoMoreFormsThanThereIsMemoryFor) {
  const auto first = Join();
  const auto second = Join();
  {
    const auto others = budget_.Reserve(budget_.limit(), "others");
    const std::uint64_t sample = first->At(0);
    EXPECT_EQ(first->Kept(sample, kFormBytes), std::vector{sample});
    EXPECT_EQ(second->PositionOf(sample), kSize);
  }
  const std::uint64_t sample = first->At(1);
  EXPECT_TRUE(first->Kept(sample, kFormBytes).empty());
  EXPECT_EQ(second->PositionOf(sample), 2);
  EXPECT_GT(budget_.used(), 0);
}

TEST_F(CoordinatorTest, WhoLeavesMakesNothingAnyMore) {
  auto first = Join();
  const auto second = Join();
  const std::uint64_t sample = first->At(0);
  EXPECT_EQ(second->PositionOf(sample), 1);  // its variant will be there
  first.reset();
  EXPECT_EQ(second->PositionOf(sample), kSize);
  EXPECT_FALSE(second->IsAwaited(sample));
}

TEST_F(CoordinatorTest, AnEpochGoesOnWithWhatWasNotSeen) {
  const auto order_member = Join();
  std::vector<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 90; ++i) seen.push_back(i);
  order_member->Start(90, *order_member->Check(90, List(seen).get()));
  std::set<std::uint64_t> rest;
  for (std::uint64_t i = 90; i < kSize; ++i) rest.insert(order_member->At(i));
  EXPECT_EQ(rest.size(), 10);
  EXPECT_GE(*rest.begin(), 90);
}

TEST_F(CoordinatorTest, WhatWasSeenMustBeAsManyAsAreSaid) {
  const auto order_member = Join();
  for (const auto& seen : {order_member->Check(1, nullptr),
                           order_member->Check(0, List({3}).get()),
                           order_member->Check(2, List({3, 3}).get())}) {
    EXPECT_TRUE(absl::IsInvalidArgument(seen.status()));
  }
  EXPECT_TRUE(order_member->Check(1, List({3}).get()).ok());
}

}  // namespace
}  // namespace forebay::stream
