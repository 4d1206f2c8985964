#include "server/schedule/shared_queue.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/schedule/shared_queue_fixture.h"

namespace forebay::schedule {
namespace {

using Catch::WithinAbs;

using Queue = SharedQueue<int>;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kMillisecond = 1e6;
constexpr double kNone = std::numeric_limits<double>::infinity();

TEST_CASE(
    "A shared queue shares by weight and by urgency as the fair queue does",
    "[schedule][shared_queue]") {
  Queue queue;
  queue.SetWeight(2, 3);
  for (int i = 0; i < 400; ++i) {
    queue.Push(1, Same(10), 400 - i, 1000 + i);
    queue.Push(2, Same(10), 0, 2000 + i);
  }
  CHECK(queue.size() == 800);
  int counts[3] = {};
  int last = 1400;
  for (int i = 0; i < 400; ++i) {
    const int item = Next(queue);
    ++counts[item / 1000];
    if (item / 1000 == 1) {
      CHECK(item == --last);
    }
  }
  CHECK_THAT(counts[2], WithinAbs(300, 3));
  CHECK(queue.size() == 400);
  CHECK(queue.NextAt() == INT64_MAX);
}

TEST_CASE("A shared queue takes items that only move",
          "[schedule][shared_queue]") {
  SharedQueue<std::unique_ptr<int>> queue;
  queue.Push(1, Same(1), 0, std::make_unique<int>(7));
  CHECK(*queue.Pop(0)->item == 7);
}

// --- Servers of several kinds.

// Pops an item for a server that leaves items of 1000 and more to another
// server. Returns -1 if there is none.
int NextSmall(Queue& queue, std::int64_t now = 0) {
  const auto popped = queue.Pop(now, [](const int& item) {
    return item < 1000 ? Turn::kTake : Turn::kAwait;
  });
  if (!popped.has_value()) return -1;
  queue.Complete(popped->id, Same(10), now);
  return popped->item;
}

TEST_CASE("Servers of a shared queue take their own items alone",
          "[schedule][shared_queue]") {
  Queue queue;
  const auto takes_large = [](const int& item) {
    return item < 1000 ? Turn::kPass : Turn::kTake;
  };
  queue.Push(1, Same(30), 0, 1000);
  CHECK(queue.HasNext(0, takes_large));
  CHECK(NextSmall(queue) == -1);
  const Flow both[] = {2, 3};
  for (int i = 0; i < 9; ++i) queue.PushFor(both, Same(10), 0, i);
  // Each flow pays 5 for each small item, so six of them start before the item
  // that costs 30.
  for (int i = 0; i < 6; ++i) CHECK(NextSmall(queue) == i);
  CHECK(NextSmall(queue) == -1);
  CHECK(queue.Pop(0, takes_large)->item == 1000);
  CHECK_FALSE(queue.HasNext(0, takes_large));
  CHECK(NextSmall(queue) == 6);
}

TEST_CASE("Nothing waits behind an item that a cap holds up in a shared queue",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 10, 0);
  queue.Push(1, Same(10), 0, 1);
  CHECK(Next(queue) == 1);
  queue.Push(1, Same(10), 0, 1000);  // over the flow's cap
  for (int i = 0; i < 50; ++i) queue.Push(2, Same(10), 0, i);
  for (int i = 0; i < 50; ++i) CHECK(NextSmall(queue) == i);
  CHECK(queue.NextAt() < 2 * kSecond);
}

// --- Caps.

TEST_CASE("A shared queue passes over a flow that is over its cap",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100 units
  for (int i = 0; i < 50; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 60; ++i) ++counts[Next(queue)];
  CHECK(counts[1] == 10);
  UNSCOPED_INFO("the others take what is left");
  CHECK(counts[2] == 50);
  CHECK(Next(queue) == -1);
  CHECK_FALSE(queue.HasNext());
  CHECK(queue.size() == 40);
  CHECK_THAT(queue.NextAt(), WithinAbs(10 * kMillisecond, 10));
  CHECK(Next(queue, Same(10), kSecond / 200) == -1);
  const auto take = [](int) { return Turn::kTake; };
  const std::int64_t due = queue.NextAt();
  CHECK_FALSE(queue.HasNext(due - 1, take));
  UNSCOPED_INFO("its cap lets it pass again");
  CHECK(queue.HasNext(due, take));
  CHECK(Next(queue, Same(10), due) == 1);
  CHECK(Next(queue, Same(10), kSecond / 100 + 10) == -1);
  queue.SetCap(1, kNone, kSecond / 100);
  CHECK(Next(queue, Same(10), kSecond / 100) == 1);
}

TEST_CASE("A flow over its cap saves nothing up", "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 1000; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  for (int i = 0; i < 500; ++i) Next(queue);
  queue.SetCap(1, kNone, 0);
  int counts[3] = {};
  for (int i = 0; i < 100; ++i) ++counts[Next(queue)];
  CHECK_THAT(counts[1], WithinAbs(50, 1));
}

TEST_CASE("Caps of a shared queue count units and shares pay for costs",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 100; ++i) {
    queue.Push(1, {.cost = 50, .units = 10}, 0, 1);
    queue.Push(2, {.cost = 10, .units = 90}, 0, 2);
  }
  int counts[3] = {};
  for (int i = 0; i < 30; ++i) ++counts[Next(queue, {.cost = 10, .units = 10})];
  UNSCOPED_INFO("its burst");
  CHECK(counts[1] == 10);
}

TEST_CASE("A flow's cap makes up for what an item really took",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);
  for (int i = 0; i < 10; ++i) queue.Push(1, Same(100), 0, i);
  const auto first = queue.Pop(0);
  CHECK_FALSE(queue.Pop(0).has_value());
  queue.Complete(first->id, Same(20), 0);
  UNSCOPED_INFO("80 of 100 are there");
  CHECK_FALSE(queue.Pop(0).has_value());
  CHECK_THAT(queue.NextAt(), WithinAbs(20 * kMillisecond, 10));
  const auto second = queue.Pop(kSecond / 50 + 10);
  REQUIRE(second.has_value());
  queue.Complete(second->id, Same(300), kSecond / 50 + 10);
  CHECK_FALSE(queue.Pop(kSecond / 5).has_value());
  CHECK_THAT(queue.NextAt(), WithinAbs(320 * kMillisecond, 100));
}

TEST_CASE("The limit of a shared queue holds up all flows together",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetLimit(1000, 0);
  for (int i = 0; i < 100; ++i)
    for (int flow : {1, 2}) queue.Push(flow, Same(10), 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 10; ++i) ++counts[Next(queue)];
  CHECK(counts[1] == 5);
  CHECK(Next(queue) == -1);
  // Until then HasNext() is false, because servers would otherwise keep waking
  // each other.
  CHECK_FALSE(queue.HasNext(0, [](int) { return Turn::kTake; }));
  CHECK_THAT(queue.NextAt(), WithinAbs(10 * kMillisecond, 10));
  CHECK(Next(queue, Same(10), queue.NextAt()) != -1);
  queue.LiftCaps();
  for (int i = 0; i < 189; ++i) CHECK(Next(queue) != -1);
  CHECK(queue.empty());
}

// --- Shares.

TEST_CASE("A shared item takes the place of the most urgent flow that wants it",
          "[schedule][shared_queue]") {
  Queue queue;
  const auto late = queue.Push(1, Same(10), 9, 100);
  for (int i = 0; i < 3; ++i) {
    queue.Push(1, Same(10), 5, i);
    queue.Push(2, Same(10), 5, 10 + i);
  }
  queue.Share(late, 2, 0);
  UNSCOPED_INFO("it is one item");
  CHECK(queue.size() == 7);
  std::vector<int> order;
  for (int i = 0; i < 7; ++i) order.push_back(Next(queue));
  UNSCOPED_INFO("flow 2's turn, which wants it most");
  CHECK(order[1] == 100);
  CHECK(std::count(order.begin(), order.end(), 100) == 1);
  CHECK(queue.empty());
  CHECK_FALSE(queue.HasNext());
  CHECK(queue.in_flight() == 0);
}

TEST_CASE("The same flow may want an item of a shared queue sooner",
          "[schedule][shared_queue]") {
  Queue queue;
  const auto late = queue.Push(1, Same(10), 9, 100);
  queue.Push(1, Same(10), 5, 1);
  queue.Share(late, 1, 0);
  CHECK(queue.size() == 2);
  CHECK(Next(queue) == 100);
  CHECK(Next(queue) == 1);
  CHECK(Next(queue) == -1);
}

TEST_CASE("A flow that may read takes a shared item for one that may not",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 100, 0);  // a burst of 10 units
  queue.Push(1, Same(10), 0, 0);
  CHECK(Next(queue) == 0);
  const auto held = queue.Push(1, Same(10), 0, 1);
  CHECK(Next(queue) == -1);
  queue.Share(held, 2, 0);
  CHECK(Next(queue) == 1);
  // The item that flow 2 took does not count toward flow 1's cap.
  queue.Push(1, Same(10), 0, 2);
  CHECK(Next(queue) == -1);
  CHECK_THAT(queue.NextAt(), WithinAbs(100 * kMillisecond, 10));
}

// Flow 1 gets what its cap allows for itself, however many items the flows
// share.
TEST_CASE("An item that a flow without a cap wants is held up by no cap",
          "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100 units
  const Flow both[] = {1, 2};
  for (int i = 0; i < 1000; ++i) queue.PushFor(both, Same(10), 0, i);
  for (int i = 0; i < 1000; ++i) CHECK(Next(queue) == i);
  for (int i = 0; i < 11; ++i) queue.Push(1, Same(10), 0, i);
  for (int i = 0; i < 10; ++i) {
    UNSCOPED_INFO("its burst");
    CHECK(Next(queue) == i);
  }
  CHECK(Next(queue) == -1);
  CHECK_THAT(queue.NextAt(), WithinAbs(10 * kMillisecond, 10));
}

TEST_CASE(
    "An item that only capped flows want counts for the one that takes it",
    "[schedule][shared_queue]") {
  Queue queue;
  queue.SetCap(1, 1000, 0);  // a burst of 100 units
  queue.SetCap(2, 2000, 0);  // a burst of 200 units
  const Flow both[] = {1, 2};
  for (int i = 0; i < 100; ++i) queue.PushFor(both, Same(10), 0, i);
  for (int i = 0; i < 30; ++i) {
    UNSCOPED_INFO("both bursts");
    CHECK(Next(queue) == i);
  }
  CHECK(Next(queue) == -1);
  UNSCOPED_INFO("the second's");
  CHECK_THAT(queue.NextAt(), WithinAbs(5 * kMillisecond, 10));
}

TEST_CASE("A shared queue takes no notice of who shares an item that is done",
          "[schedule][shared_queue]") {
  Queue queue;
  const auto id = queue.Push(1, Same(10), 0, 1);
  CHECK(Next(queue) == 1);
  queue.Share(id, 2, 0);
  queue.Share(12345, 2, 0);
  CHECK_FALSE(queue.Pop(0).has_value());
}

TEST_CASE("Flows of a shared queue may be forgotten while they share",
          "[schedule][shared_queue]") {
  Queue queue;
  const auto flying = queue.Push(1, Same(10), 0, 0);
  const auto waiting = queue.Push(1, Same(10), 0, 1);
  REQUIRE(queue.Pop(0)->id == flying);
  queue.Share(flying, 2, 0);
  queue.Share(waiting, 2, 0);
  queue.SetCap(2, 1, 0);
  queue.Forget(2);
  queue.Forget(1);
  queue.Complete(flying, Same(10), 0);
  CHECK(Next(queue) == 1);
  CHECK(queue.empty());
}

}  // namespace
}  // namespace forebay::schedule
