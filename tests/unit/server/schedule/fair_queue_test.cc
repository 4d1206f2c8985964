#include "server/schedule/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

using Catch::WithinAbs;

using Queue = FairQueue<int>;

// Pops an item, completes it with its estimated cost, and returns it.
int Next(Queue& queue) {
  auto popped = queue.Pop();
  queue.Complete(popped->flow, popped->cost, popped->cost);
  return popped->item;
}

TEST_CASE("An empty fair queue gives nothing", "[schedule][fair_queue]") {
  Queue queue;
  CHECK(queue.empty());
  CHECK_FALSE(queue.Pop().has_value());
}

TEST_CASE(
    "Within a flow a fair queue gives the most urgent and then the oldest item "
    "first",
    "[schedule][fair_queue]") {
  Queue queue;
  queue.Push(1, 10, 2, 20);
  queue.Push(1, 10, 1, 10);
  queue.Push(1, 10, 2, 21);
  queue.Push(1, 10, 0, 0);
  queue.Push(1, 10, 1, 11);
  CHECK(queue.size(1) == 5);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(Next(queue));
  CHECK(order == std::vector<int>{0, 10, 11, 20, 21});
}

TEST_CASE("The urgency of one flow does not beat another flow in a fair queue",
          "[schedule][fair_queue]") {
  Queue queue;
  for (int i = 0; i < 10; ++i) {
    queue.Push(1, 10, 0, 1);
    queue.Push(2, 10, 1000, 2);
  }
  int counts[3] = {};
  for (int i = 0; i < 10; ++i) ++counts[Next(queue)];
  CHECK(counts[1] == 5);
  CHECK(counts[2] == 5);
}

TEST_CASE("A fair queue takes items that only move", "[schedule][fair_queue]") {
  FairQueue<std::unique_ptr<int>> queue;
  queue.Push(1, 1, 0, std::make_unique<int>(7));
  CHECK(*queue.Pop()->item == 7);
}

// The weights, costs and depth are random. The services of two busy flows,
// divided by their weights, differ by no more than the bound in the header.
TEST_CASE("Shares of a fair queue follow the weights of flows",
          "[schedule][fair_queue]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    Queue queue;
    const int flows = 2 + random() % 8;
    const std::size_t depth = 1 + random() % 16;
    std::vector<double> weight(flows), service(flows), largest(flows);
    for (int flow = 0; flow < flows; ++flow) {
      weight[flow] = 0.1 + random() % 100 / 10.0;
      queue.SetWeight(flow, weight[flow]);
    }
    const auto push = [&](int flow) {
      const std::int64_t cost = 1 + random() % (1000 * (flow + 1));
      largest[flow] = std::max<double>(largest[flow], cost);
      queue.Push(flow, cost, random() % 4, flow);
    };
    for (int flow = 0; flow < flows; ++flow)
      for (int i = 0; i < 3; ++i) push(flow);
    std::deque<Queue::Popped> flying;
    for (int step = 0; step < 3000; ++step) {
      if (flying.size() == depth) {
        queue.Complete(flying.front().flow, flying.front().cost,
                       flying.front().cost);
        flying.pop_front();
      }
      flying.push_back(*queue.Pop());
      const int flow = flying.back().item;
      service[flow] += flying.back().cost;
      push(flow);
      for (int other = 0; other < flows; ++other)
        REQUIRE(service[flow] / weight[flow] - service[other] / weight[other] <=
                largest[flow] / weight[flow] + largest[other] / weight[other] +
                    1e-6);
    }
  }
}

TEST_CASE(
    "Correction makes a fair queue's shares true where estimates of costs lie",
    "[schedule][fair_queue]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Queue queue;
  // Flow 1's estimates are a tenth of its costs, and flow 2's are ten times its
  // costs.
  double service[3] = {};
  std::deque<Queue::Popped> flying;
  for (int flow : {1, 2})
    for (int i = 0; i < 8; ++i) queue.Push(flow, 100, 0, flow);
  for (int step = 0; step < 20'000; ++step) {
    if (flying.size() == 4) {
      const Queue::Popped done = flying.front();
      flying.pop_front();
      const std::int64_t actual =
          (done.flow == 1 ? 1000 : 10) + static_cast<int>(random() % 10);
      service[done.flow] += actual;
      queue.Complete(done.flow, done.cost, actual);
    }
    flying.push_back(*queue.Pop());
    queue.Push(flying.back().flow, 100, 0, flying.back().item);
  }
  CHECK_THAT(service[1] / service[2], WithinAbs(1.0, 0.1));
}

TEST_CASE("A flow's weight in a fair queue changes live",
          "[schedule][fair_queue]") {
  Queue queue;
  for (int i = 0; i < 1000; ++i)
    for (int flow : {1, 2}) queue.Push(flow, 10, 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 400; ++i) ++counts[Next(queue)];
  CHECK_THAT(counts[1], WithinAbs(200, 2));
  queue.SetWeight(1, 3);
  counts[1] = counts[2] = 0;
  for (int i = 0; i < 400; ++i) ++counts[Next(queue)];
  CHECK_THAT(counts[1], WithinAbs(300, 3));
}

TEST_CASE("An idle flow saves nothing up in a fair queue",
          "[schedule][fair_queue]") {
  Queue queue;
  queue.Push(2, 10, 0, 2);
  Next(queue);
  for (int i = 0; i < 1000; ++i) queue.Push(1, 10, 0, 1);
  for (int i = 0; i < 500; ++i) Next(queue);
  for (int i = 0; i < 500; ++i) queue.Push(2, 10, 0, 2);
  int counts[3] = {};
  for (int i = 0; i < 100; ++i) ++counts[Next(queue)];
  CHECK_THAT(counts[2], WithinAbs(50, 1));
}

TEST_CASE("A flow that was alone in a fair queue owes nothing",
          "[schedule][fair_queue]") {
  Queue queue;
  for (int i = 0; i < 500; ++i) queue.Push(1, 10, 0, 1);
  for (int i = 0; i < 500; ++i) Next(queue);
  for (int i = 0; i < 100; ++i)
    for (int flow : {1, 2}) queue.Push(flow, 10, 0, flow);
  int counts[3] = {};
  for (int i = 0; i < 100; ++i) ++counts[Next(queue)];
  CHECK_THAT(counts[1], WithinAbs(50, 1));
}

// A light flow is served, however heavy and numerous the other flows are.
TEST_CASE("No flow starves in a fair queue", "[schedule][fair_queue]") {
  Queue queue;
  queue.SetWeight(0, 0.01);
  for (int flow = 1; flow <= 20; ++flow) {
    queue.SetWeight(flow, 10);
    queue.Push(flow, 1, 0, flow);
  }
  // No flow has been served yet, so the item's start tag is v.
  queue.Push(0, 0, UINT64_MAX, 0);
  queue.Push(0, 1, UINT64_MAX, 0);
  int served = 0;
  // The second item of flow 0 starts at 1 / 0.01 = 100. By then, each other
  // flow has had 1000 items.
  for (int step = 0; step < 20 * 1000 + 22 + 20; ++step) {
    const int flow = Next(queue);
    if (flow == 0)
      ++served;
    else
      queue.Push(flow, 1, 0, flow);
  }
  CHECK(served == 2);
}

TEST_CASE("Forgotten flows leave a fair queue when they are done",
          "[schedule][fair_queue]") {
  Queue queue;
  queue.SetWeight(1, 5);
  queue.Push(1, 1, 0, 0);
  queue.Push(1, 1, 0, 1);
  const auto flying = queue.Pop();
  queue.Forget(1);
  CHECK(queue.flows() == 1);
  CHECK(Next(queue) == 1);
  CHECK(queue.flows() == 1);
  queue.Complete(1, flying->cost, 1);
  CHECK(queue.flows() == 0);
  queue.Forget(1);
  CHECK(queue.in_flight() == 0);
}

// Compares random operations with a simple model. No item is lost, invented or
// returned twice, and Pop() returns an item whenever there is one.
TEST_CASE("A fair queue keeps every item", "[schedule][fair_queue]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Queue queue;
  std::map<int, Flow> waiting;
  std::vector<Queue::Popped> flying;
  int next_item = 0;
  for (int step = 0; step < 100'000; ++step) {
    const Flow flow = random() % 5;
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        waiting[next_item] = flow;
        queue.Push(flow, random() % 100, random() % 5, next_item++);
        break;
      case 3:
      case 4:
        if (auto popped = queue.Pop()) {
          REQUIRE(waiting.at(popped->item) == popped->flow);
          waiting.erase(popped->item);
          flying.push_back(*popped);
        } else {
          REQUIRE(waiting.empty());
        }
        break;
      case 5:
      case 6:
        if (!flying.empty()) {
          std::swap(flying[random() % flying.size()], flying.back());
          queue.Complete(flying.back().flow, flying.back().cost,
                         random() % 1000);
          flying.pop_back();
        }
        break;
      case 7:
        if (random() % 2 == 0)
          queue.SetWeight(flow, 1 + random() % 10);
        else
          queue.Forget(flow);
        break;
    }
    REQUIRE(queue.size() == waiting.size());
    REQUIRE(queue.in_flight() == flying.size());
  }
}

// --- Servers of several kinds.

constexpr int kLongItem = 100;

// Pops the next item for a server of short items; long items get `turn`.
// Returns -1 if there is none.
int NextShort(Queue& queue, Turn turn) {
  const auto front = queue.Next([turn](Flow, const int& item) {
    return item == kLongItem ? turn : Turn::kTake;
  });
  if (!front.has_value()) return -1;
  const auto popped = queue.Pop(front->flow);
  CHECK(popped.flow == front->flow);
  queue.Complete(popped.flow, popped.cost, popped.cost);
  return popped.item;
}

TEST_CASE("A server passes over items of another server that is free",
          "[schedule][fair_queue]") {
  Queue queue;
  queue.Push(1, 100, 0, kLongItem);
  for (int i = 0; i < 50; ++i) queue.Push(2, 10, 0, i);
  for (int i = 0; i < 50; ++i) CHECK(NextShort(queue, Turn::kPass) == i);
  CHECK(NextShort(queue, Turn::kPass) == -1);
  CHECK(Next(queue) == kLongItem);
}

TEST_CASE("Items overtake an item that awaits its server by at most its cost",
          "[schedule][fair_queue]") {
  for (const double weight : {1, 2}) {
    Queue queue;
    queue.SetWeight(1, weight);
    queue.Push(1, 100, 0, kLongItem);
    queue.Push(1, 1, 1, -7);  // items of the same flow do not overtake it
    for (int i = 0; i < 50; ++i) queue.Push(2, 10, 0, i);
    const int most = static_cast<int>(10 / weight);
    for (int i = 0; i < most; ++i) CHECK(NextShort(queue, Turn::kAwait) == i);
    CHECK(NextShort(queue, Turn::kAwait) == -1);
    CHECK(Next(queue) == kLongItem);
  }
}

TEST_CASE(
    "Items overtake an item that awaits its server by at most the largest cost "
    "in flight",
    "[schedule][fair_queue]") {
  Queue queue;
  queue.Push(3, 200, 0, kLongItem);
  const auto running = queue.Pop(3);
  queue.Push(1, 20, 0, kLongItem);
  for (int i = 0; i < 50; ++i) queue.Push(2, 10, 0, i);
  for (int i = 0; i < 20; ++i) CHECK(NextShort(queue, Turn::kAwait) == i);
  CHECK(NextShort(queue, Turn::kAwait) == -1);
  queue.Complete(3, running.cost, 200);
  CHECK(Next(queue) == kLongItem);
}

// Most of the capacity is that of a server of short items, beside a server of
// long ones. Of two flows that always have items, one has long and one short
// items. The two are still served by weight.
TEST_CASE("With servers of two kinds the shares of a fair queue follow weights",
          "[schedule][fair_queue]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const double weight : {0.25, 1.0, 3.0}) {
    Queue queue;
    queue.SetWeight(1, weight);
    double service[3] = {};
    std::optional<Queue::Popped> running;
    for (int i = 0; i < 20'000; ++i) {
      while (queue.size(1) < 2) queue.Push(1, 100, 0, kLongItem);
      while (queue.size(2) < 2) queue.Push(2, 1 + random() % 10, 0, 2);
      if (!running.has_value()) {
        const auto next = queue.Next([](Flow, const int& item) {
          return item == kLongItem ? Turn::kTake : Turn::kAwait;
        });
        if (next.has_value()) {
          running = queue.Pop(next->flow);
          service[1] += 100;
        }
      }
      const auto next = queue.Next([](Flow, const int& item) {
        return item == kLongItem ? Turn::kAwait : Turn::kTake;
      });
      if (next.has_value()) {
        const auto popped = queue.Pop(next->flow);
        service[2] += static_cast<double>(popped.cost);
        queue.Complete(popped.flow, popped.cost, popped.cost);
      }
      // While no short item may run, the long item has all capacity.
      if (running.has_value() && (!next.has_value() || random() % 20 == 0)) {
        queue.Complete(running->flow, running->cost, running->cost);
        running.reset();
      }
      CHECK(std::abs(service[1] / weight - service[2]) <=
            3 * 100 / weight + 10);
    }
  }
}

}  // namespace
}  // namespace forebay::schedule
