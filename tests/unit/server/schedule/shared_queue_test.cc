#include "server/schedule/shared_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace forebay::schedule {
namespace {

using Queue = SharedQueue<int>;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kMillisecond = 1e6;
constexpr double kNone = std::numeric_limits<double>::infinity();

Load Same(std::int64_t amount) { return {.cost = amount, .units = amount}; }

// Pops and completes as estimated; -1: nothing.
int Next(Queue& queue, const Load& load = Same(10), std::int64_t now = 0) {
  const auto popped = queue.Pop(now);
  if (!popped.has_value()) return -1;
  queue.Complete(popped->id, load, now);
  return popped->item;
}

TEST(SharedQueueTest, SharesByWeightAndByUrgencyAsTheFairQueueDoes) {
  Queue queue;
  queue.SetWeight(2, 3);
  for (int i = 0; i < 400; ++i) {
    queue.Push(1, Same(10), 400 - i, 1000 + i);
    queue.Push(2, Same(10), 0, 2000 + i);
  }
  EXPECT_EQ(queue.size(), 800);
  int counts[3] = {};
  int last = 1400;
  for (int i = 0; i < 400; ++i) {
    const int item = Next(queue);
    ++counts[item / 1000];
    if (item / 1000 == 1) {
      EXPECT_EQ(item, --last);
    }
  }
  EXPECT_NEAR(counts[2], 300, 3);
  EXPECT_EQ(queue.size(), 400);
  EXPECT_EQ(queue.NextAt(), INT64_MAX);
}

TEST(SharedQueueTest, TakesItemsThatOnlyMove) {
  SharedQueue<std::unique_ptr<int>> queue;
  queue.Push(1, Same(1), 0, std::make_unique<int>(7));
  EXPECT_EQ(*queue.Pop(0)->item, 7);
}

// --- Servers of several kinds.

// Pops for a server that takes no items of 1000 and more: these await another.
int NextSmall(Queue& queue, std::int64_t now = 0) {
  const auto popped = queue.Pop(now, [](const int& item) {
    return item < 1000 ? Turn::kTake : Turn::kAwait;
  });
  if (!popped.has_value()) return -1;
  queue.Complete(popped->id, Same(10), now);
  return popped->item;
}

TEST(SharedQueueTest, ServersTakeTheirItemsAlone) {
  Queue queue;
  const auto takes_large = [](const int& item) {
    return item < 1000 ? Turn::kPass : Turn::kTake;
  };
  queue.Push(1, Same(30), 0, 1000);
  EXPECT_TRUE(queue.HasNext(0, takes_large));
  EXPECT_EQ(NextSmall(queue), -1);
  const Flow both[] = {2, 3};
  for (int i = 0; i < 9; ++i) queue.PushFor(both, Same(10), 0, i);
  // Each flow pays 5 for each: six start before 30.
  for (int i = 0; i < 6; ++i) EXPECT_EQ(NextSmall(queue), i);
  EXPECT_EQ(NextSmall(queue), -1);
  EXPECT_EQ(queue.Pop(0, takes_large)->item, 1000);
  EXPECT_FALSE(queue.HasNext(0, takes_large));
  EXPECT_EQ(NextSmall(queue), 6);
}

TEST(SharedQueueTest, NothingWaitsBehindAnItemThatACapHoldsUp) {
  Queue queue;
  queue.SetCap(1, 10, 0);
  queue.Push(1, Same(10), 0, 1);
  EXPECT_EQ(Next(queue), 1);
  queue.Push(1, Same(10), 0, 1000);  // over its cap
  for (int i = 0; i < 50; ++i) queue.Push(2, Same(10), 0, i);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(NextSmall(queue), i);
  EXPECT_LT(queue.NextAt(), 2 * kSecond);
}

// --- Caps.

TEST(SharedQueueTest, WhoIsOverItsCapIsPassedOver) {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100
  for (int i = 0; i < 50; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 60; ++i) ++counts[Next(queue)];
  EXPECT_EQ(counts[1], 10);
  EXPECT_EQ(counts[2], 50) << "the others take what is left";
  EXPECT_EQ(Next(queue), -1);
  EXPECT_FALSE(queue.HasNext());
  EXPECT_EQ(queue.size(), 40);
  EXPECT_NEAR(queue.NextAt(), 10 * kMillisecond, 10);
  EXPECT_EQ(Next(queue, Same(10), kSecond / 200), -1);
  const auto take = [](int) { return Turn::kTake; };
  const std::int64_t due = queue.NextAt();
  EXPECT_FALSE(queue.HasNext(due - 1, take));
  EXPECT_TRUE(queue.HasNext(due, take)) << "its cap lets it pass again";
  EXPECT_EQ(Next(queue, Same(10), due), 1);
  EXPECT_EQ(Next(queue, Same(10), kSecond / 100 + 10), -1);
  queue.SetCap(1, kNone, kSecond / 100);
  EXPECT_EQ(Next(queue, Same(10), kSecond / 100), 1);
}

TEST(SharedQueueTest, AFlowOverItsCapSavesNothingUp) {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 1000; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  for (int i = 0; i < 500; ++i) Next(queue);
  queue.SetCap(1, kNone, 0);
  int counts[3] = {};
  for (int i = 0; i < 100; ++i) ++counts[Next(queue)];
  EXPECT_NEAR(counts[1], 50, 1);
}

TEST(SharedQueueTest, CapsCountUnitsAndSharesPayForCosts) {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 100; ++i) {
    queue.Push(1, {.cost = 50, .units = 10}, 0, 1);
    queue.Push(2, {.cost = 10, .units = 90}, 0, 2);
  }
  int counts[3] = {};
  for (int i = 0; i < 30; ++i) ++counts[Next(queue, {.cost = 10, .units = 10})];
  EXPECT_EQ(counts[1], 10) << "its burst";
}

TEST(SharedQueueTest, WhatAnItemReallyTookIsMadeUpFor) {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 10; ++i) queue.Push(1, Same(100), 0, i);
  const auto first = queue.Pop(0);
  EXPECT_FALSE(queue.Pop(0).has_value());
  queue.Complete(first->id, Same(20), 0);
  EXPECT_FALSE(queue.Pop(0).has_value()) << "80 of 100 are there";
  EXPECT_NEAR(queue.NextAt(), 20 * kMillisecond, 10);
  const auto second = queue.Pop(kSecond / 50 + 10);
  ASSERT_TRUE(second.has_value());
  queue.Complete(second->id, Same(300), kSecond / 50 + 10);
  EXPECT_FALSE(queue.Pop(kSecond / 5).has_value());
  EXPECT_NEAR(queue.NextAt(), 320 * kMillisecond, 100);
}

TEST(SharedQueueTest, TheLimitHoldsUpAllTogether) {
  Queue queue;
  queue.SetLimit(1000, 0);
  for (int i = 0; i < 100; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 10; ++i) ++counts[Next(queue)];
  EXPECT_EQ(counts[1], 5);
  EXPECT_EQ(Next(queue), -1);
  // Otherwise servers would wake each other until then.
  EXPECT_FALSE(queue.HasNext(0, [](int) { return Turn::kTake; }));
  EXPECT_NEAR(queue.NextAt(), 10 * kMillisecond, 10);
  EXPECT_NE(Next(queue, Same(10), queue.NextAt()), -1);
  queue.LiftCaps();
  for (int i = 0; i < 189; ++i) EXPECT_NE(Next(queue), -1);
  EXPECT_TRUE(queue.empty());
}

// --- Shares.

TEST(SharedQueueTest, ASharedItemTakesTheMostUrgentOnesPlace) {
  Queue queue;
  const auto late = queue.Push(1, Same(10), 9, 100);
  for (int i = 0; i < 3; ++i) {
    queue.Push(1, Same(10), 5, i);
    queue.Push(2, Same(10), 5, 10 + i);
  }
  queue.Share(late, 2, 0);
  EXPECT_EQ(queue.size(), 7) << "it is one item";
  std::vector<int> order;
  for (int i = 0; i < 7; ++i) order.push_back(Next(queue));
  EXPECT_EQ(order[1], 100) << "flow 2's turn, which wants it most";
  EXPECT_EQ(std::count(order.begin(), order.end(), 100), 1);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.HasNext());
  EXPECT_EQ(queue.in_flight(), 0);
}

TEST(SharedQueueTest, TheSameFlowMayWantAnItemSooner) {
  Queue queue;
  const auto late = queue.Push(1, Same(10), 9, 100);
  queue.Push(1, Same(10), 5, 1);
  queue.Share(late, 1, 0);
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(Next(queue), 100);
  EXPECT_EQ(Next(queue), 1);
  EXPECT_EQ(Next(queue), -1);
}

TEST(SharedQueueTest, WhoMayReadTakesItForWhoMayNot) {
  Queue queue;
  queue.SetCap(1, 100, 0);  // a burst of 10
  queue.Push(1, Same(10), 0, 0);
  EXPECT_EQ(Next(queue), 0);
  const auto held = queue.Push(1, Same(10), 0, 1);
  EXPECT_EQ(Next(queue), -1);
  queue.Share(held, 2, 0);
  EXPECT_EQ(Next(queue), 1);
  // For its cap that counts nothing.
  queue.Push(1, Same(10), 0, 2);
  EXPECT_EQ(Next(queue), -1);
  EXPECT_NEAR(queue.NextAt(), 100 * kMillisecond, 10);
}

// However much another takes for it, or it takes of what another wants, it
// gets what its cap allows it for itself.
TEST(SharedQueueTest, WhatOneWithoutACapWantsIsHeldUpByNone) {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100
  const Flow both[] = {1, 2};
  for (int i = 0; i < 1000; ++i) queue.PushFor(both, Same(10), 0, i);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Next(queue), i);
  for (int i = 0; i < 11; ++i) queue.Push(1, Same(10), 0, i);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Next(queue), i) << "its burst";
  EXPECT_EQ(Next(queue), -1);
  EXPECT_NEAR(queue.NextAt(), 10 * kMillisecond, 10);
}

TEST(SharedQueueTest, WhatOnlyTheCappedWantCountsForWhoTakesIt) {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100
  queue.SetCap(2, 2000, 0);  // and of 200
  const Flow both[] = {1, 2};
  for (int i = 0; i < 100; ++i) queue.PushFor(both, Same(10), 0, i);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Next(queue), i) << "both bursts";
  EXPECT_EQ(Next(queue), -1);
  EXPECT_NEAR(queue.NextAt(), 5 * kMillisecond, 10) << "the second's";
}

TEST(SharedQueueTest, OfAnItemThatIsDoneNobodyTakesNotice) {
  Queue queue;
  const auto id = queue.Push(1, Same(10), 0, 1);
  EXPECT_EQ(Next(queue), 1);
  queue.Share(id, 2, 0);
  queue.Share(12345, 2, 0);
  EXPECT_FALSE(queue.Pop(0).has_value());
}

TEST(SharedQueueTest, FlowsMayBeForgottenWhileTheyShare) {
  Queue queue;
  const auto flying = queue.Push(1, Same(10), 0, 0);
  const auto waiting = queue.Push(1, Same(10), 0, 1);
  ASSERT_EQ(queue.Pop(0)->id, flying);
  queue.Share(flying, 2, 0);
  queue.Share(waiting, 2, 0);
  queue.SetCap(2, 1, 0);
  queue.Forget(2);
  queue.Forget(1);
  queue.Complete(flying, Same(10), 0);
  EXPECT_EQ(Next(queue), 1);
  EXPECT_EQ(queue.size(), 0);
}

// --- Stalled items.

TEST(SharedQueueTest, AStalledItemLeavesTheCountUntilItEndsOrResumes) {
  Queue queue;
  queue.Push(1, Same(10), 0, 7);
  queue.Push(1, Same(10), 0, 8);
  const auto first = queue.Pop(0);
  queue.Stall(first->id);
  queue.Stall(first->id);
  EXPECT_EQ(queue.in_flight(), 0);
  EXPECT_EQ(queue.stalled(), 1);
  EXPECT_EQ(queue.size(), 1);
  queue.Resume(first->id);
  queue.Resume(first->id);
  EXPECT_EQ(queue.in_flight(), 1);
  EXPECT_EQ(queue.stalled(), 0);
  queue.Stall(first->id);
  queue.Complete(first->id, Same(10), 0);
  EXPECT_EQ(queue.in_flight(), 0);
  EXPECT_EQ(queue.stalled(), 0);
  EXPECT_EQ(Next(queue), 8);
  EXPECT_TRUE(queue.empty());
}

TEST(SharedQueueTest, OnlyItemsInFlightStall) {
  Queue queue;
  const Queue::Id waiting = queue.Push(1, Same(10), 0, 7);
  queue.Stall(waiting);
  queue.Stall(99);
  queue.Resume(99);
  EXPECT_EQ(queue.stalled(), 0);
  EXPECT_EQ(Next(queue), 7);
}

TEST(SharedQueueTest, AFlowWithTooManyStalledItemsIsPassedOver) {
  Queue queue(/*most_stalled=*/2);
  for (int i = 0; i < 3; ++i) queue.Push(1, Same(10), 0, 10 + i);
  for (int i = 0; i < 2; ++i) queue.Push(2, Same(10), 5, 20 + i);
  const auto first = queue.Pop(0);
  EXPECT_EQ(first->item, 10);
  queue.Stall(first->id);
  EXPECT_EQ(Next(queue), 20);
  const auto second = queue.Pop(0);
  EXPECT_EQ(second->item, 11);
  queue.Stall(second->id);
  EXPECT_EQ(Next(queue), 21);
  EXPECT_EQ(Next(queue), -1);
  EXPECT_FALSE(queue.HasNext());
  EXPECT_EQ(queue.NextAt(), INT64_MAX);
  EXPECT_EQ(queue.size(), 1);
  queue.Complete(first->id, Same(10), 0);
  EXPECT_EQ(Next(queue), 12);
  queue.Complete(second->id, Same(10), 0);
}

TEST(SharedQueueTest, AStalledItemCountsForAllFlowsThatWantIt) {
  Queue queue(/*most_stalled=*/1);
  const std::uint64_t both[] = {1, 2};
  queue.PushFor(both, Same(10), 0, 7);
  for (const int flow : {1, 2, 3}) queue.Push(flow, Same(10), 9, 10 * flow);
  queue.PushFor(std::vector<std::uint64_t>{1, 3}, Same(10), 9, 13);
  const auto shared = queue.Pop(0);
  EXPECT_EQ(shared->item, 7);
  queue.Stall(shared->id);
  EXPECT_EQ(Next(queue), 30);
  EXPECT_EQ(Next(queue), 13);  // by the turn of the third
  EXPECT_EQ(Next(queue), -1);
  // A flow that comes to want it counts it, too.
  queue.Push(4, Same(10), 9, 40);
  queue.Share(shared->id, 4, 0);
  EXPECT_EQ(Next(queue), -1);
  queue.Complete(shared->id, Same(10), 0);
  for (int i = 0; i < 3; ++i) EXPECT_NE(Next(queue), -1);
  EXPECT_TRUE(queue.empty());
}

TEST(SharedQueueTest, AFlowIsHeldByItsCapAndByItsStalledItems) {
  Queue queue(/*most_stalled=*/1);
  queue.SetCap(1, 100, 0);
  for (int i = 0; i < 3; ++i) queue.Push(1, Same(10), 0, 10 + i);
  const auto stalled = queue.Pop(0);
  EXPECT_EQ(Next(queue), -1);  // held by its cap
  queue.Stall(stalled->id);
  const std::int64_t at = queue.NextAt();
  EXPECT_EQ(Next(queue, Same(10), at), -1);  // held by its stalled item
  queue.Complete(stalled->id, Same(10), at);
  EXPECT_EQ(Next(queue, Same(10), at + kSecond), 11);
  EXPECT_EQ(Next(queue, Same(10), at + 2 * kSecond), 12);
}

TEST(SharedQueueTest, AnOwnerThatEndsPopsWhatStalledItemsHeldUp) {
  Queue queue(/*most_stalled=*/1);
  queue.Push(1, Same(10), 0, 7);
  queue.Push(1, Same(10), 0, 8);
  const auto stalled = queue.Pop(0);
  queue.Stall(stalled->id);
  EXPECT_EQ(Next(queue), -1);
  queue.LiftCaps();
  EXPECT_EQ(Next(queue), 8);
  queue.Complete(stalled->id, Same(10), 0);
}

}  // namespace
}  // namespace forebay::schedule
