// Tests of the properties that a shared queue has under random use.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "server/schedule/shared_queue.h"
#include "tests/catch/catch.h"

namespace forebay::schedule {
namespace {

using Catch::WithinAbs;

using Queue = SharedQueue<int>;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kNone = std::numeric_limits<double>::infinity();

Load Same(std::int64_t amount) { return {.cost = amount, .units = amount}; }

// Over any period of time, a flow gets no more than its rate and one burst, or
// one item if that is larger. All flows together get no more than the limit. As
// long as any flow may be served, an item is served.
TEST_CASE("No window of time exceeds a cap of a shared queue",
          "[schedule][shared_queue_random]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    Queue queue;
    constexpr int kFlows = 4;  // the last one has no cap
    double rate[kFlows + 1];
    for (int flow = 0; flow < kFlows - 1; ++flow) {
      rate[flow] = 100 + random() % 10'000;
      queue.SetCap(flow, rate[flow], 0);
      queue.SetWeight(flow, 1 + random() % 5);
    }
    rate[kFlows - 1] = 1e12;
    rate[kFlows] = 3000 + random() % 30'000;
    queue.SetLimit(rate[kFlows], 0);
    const int largest = 1 + random() % 2000;
    struct Taken {
      std::int64_t at;
      double units;
    };
    std::vector<Taken> taken[kFlows + 1];
    std::map<int, std::int64_t> units;
    int next_item = 0;
    const auto push = [&](int flow) {
      units[next_item] = 1 + random() % largest;
      queue.Push(flow, Same(units[next_item]), random() % 3,
                 flow + kFlows * next_item);
      ++next_item;
    };
    for (int flow = 0; flow < kFlows; ++flow)
      for (int i = 0; i < 3; ++i) push(flow);
    std::int64_t now = 0;
    for (int step = 0; step < 1500; ++step) {
      const auto popped = queue.Pop(now);
      if (!popped.has_value()) {
        REQUIRE(queue.NextAt() > now);
        // The next call sometimes comes late.
        now = queue.NextAt() + (random() % 8 == 0 ? random() % kSecond : 0);
        continue;
      }
      const int flow = popped->item % kFlows;
      const auto amount = units[popped->item / kFlows];
      for (const int book : {flow, kFlows})
        taken[book].push_back({now, static_cast<double>(amount)});
      queue.Complete(popped->id, Same(amount), now);
      push(flow);
    }
    for (int book = 0; book <= kFlows; ++book) {
      const double burst =
          std::max<double>(rate[book] * Queue::kBurstSeconds, largest);
      for (std::size_t from = 0; from < taken[book].size(); from += 7) {
        double sum = 0;
        for (std::size_t to = from; to < taken[book].size(); ++to) {
          sum += taken[book][to].units;
          const double seconds =
              static_cast<double>(taken[book][to].at - taken[book][from].at) *
              1e-9;
          UNSCOPED_INFO("flow " << book);
          REQUIRE(sum <= (rate[book] * seconds + burst) * (1 + 1e-6) + 1);
        }
      }
    }
  }
}

// Random flows share random items at random times. The test charges each flow
// an equal part of the real cost of its items. All flows always wait. If the
// queue charges the same, the flows' payments divided by their weights stay
// within the fair queue's bound. Each item comes out once.
TEST_CASE("All flows of a shared queue pay equal parts of a shared item",
          "[schedule][shared_queue_random]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    Queue queue;
    constexpr int kLargest = 1000;
    const int flows = 2 + random() % 5;
    const std::size_t depth = 1 + random() % 8;
    std::vector<double> weight(flows), paid(flows);
    for (int flow = 0; flow < flows; ++flow) {
      weight[flow] = 0.5 + random() % 8 / 2.0;
      queue.SetWeight(flow, weight[flow]);
    }
    struct Item {
      std::int64_t actual;
      std::set<int> wanted_by;
    };
    std::map<Queue::Id, Item> items;  // items that wait or are in flight
    const auto push = [&](int flow) {
      const std::int64_t actual = 1 + random() % kLargest;
      // Estimates are wrong by up to a half.
      const auto id = queue.Push(
          flow, Same(actual / 2 + random() % (actual + 1)), random() % 4, 0);
      items[id] = {actual, {flow}};
    };
    std::deque<Queue::Id> flying;
    double total = 0;
    for (int step = 0; step < 4000; ++step) {
      for (int flow = 0; flow < flows; ++flow) {
        const auto own =
            std::count_if(items.begin(), items.end(), [&](const auto& item) {
              return item.second.wanted_by == std::set<int>{flow};
            });
        for (auto i = own; i < 3 + static_cast<int>(depth); ++i) push(flow);
      }
      if (random() % 3 == 0) {
        auto shared = items.begin();
        std::advance(shared, random() % items.size());
        // Picks the flow that has paid least. Shares are taken on credit, so a
        // flow may pay more than its part if it joins more items than its
        // weight allows.
        int flow = random() % flows;
        for (int other = 0; other < flows; ++other)
          if (paid[other] / weight[other] < paid[flow] / weight[flow])
            flow = other;
        queue.Share(shared->first, flow, random() % 4);
        shared->second.wanted_by.insert(flow);
      }
      if (flying.size() == depth) {
        const Queue::Id id = flying.front();
        flying.pop_front();
        const Item& item = items.at(id);
        for (const int flow : item.wanted_by)
          paid[flow] += static_cast<double>(item.actual) /
                        static_cast<double>(item.wanted_by.size());
        total += static_cast<double>(item.actual);
        queue.Complete(id, Same(item.actual), 0);
        items.erase(id);
      }
      flying.push_back(queue.Pop(0)->id);
      REQUIRE(items.count(flying.back()) == 1);
      REQUIRE(queue.in_flight() == flying.size());
      REQUIRE(queue.size() == items.size() - flying.size());
    }
    double sum = 0;
    for (int flow = 0; flow < flows; ++flow) {
      sum += paid[flow];
      // The difference is bounded by the items in flight and the items on
      // credit.
      for (int other = 0; other < flows; ++other)
        REQUIRE(paid[flow] / weight[flow] - paid[other] / weight[other] <=
                3.0 * (depth + 2) * kLargest *
                    (1 / weight[flow] + 1 / weight[other]));
    }
    CHECK_THAT(sum, WithinAbs(total, 1e-6 * total));
  }
}

// Compares random operations with a simple model. No item is lost, invented or
// returned twice. At the end, without caps, all waiting items come out.
TEST_CASE("A shared queue keeps every item",
          "[schedule][shared_queue_random]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Queue queue;
  std::map<Queue::Id, int> waiting;
  std::vector<Queue::Id> flying;
  std::int64_t now = 0;
  int next_item = 0;
  const auto pop = [&] {
    const auto popped = queue.Pop(now);
    if (!popped.has_value()) return false;
    CHECK(waiting.at(popped->id) == popped->item);
    waiting.erase(popped->id);
    flying.push_back(popped->id);
    return true;
  };
  for (int step = 0; step < 100'000; ++step) {
    const Flow flow = random() % 5;
    now += random() % 1'000'000;
    switch (random() % 12) {
      case 0:
      case 1:
      case 2:
        waiting[queue.Push(flow, Same(random() % 100), random() % 5,
                           next_item)] = next_item;
        ++next_item;
        break;
      case 3:
      case 4:
      case 5:
        if (!pop() && queue.NextAt() == INT64_MAX) {
          REQUIRE(waiting.empty());
        }
        break;
      case 6:
      case 7:
        if (flying.empty()) break;
        std::swap(flying[random() % flying.size()], flying.back());
        queue.Complete(flying.back(), Same(random() % 1000), now);
        flying.pop_back();
        break;
      case 8:
        if (!waiting.empty())
          queue.Share(waiting.begin()->first + random() % 3, flow,
                      random() % 5);
        break;
      case 9:
        if (!flying.empty()) queue.Share(flying.front(), flow, 0);
        break;
      case 10:
        queue.SetCap(flow, random() % 2 == 0 ? kNone : 1 + random() % 100'000,
                     now);
        if (random() % 4 == 0)
          queue.SetLimit(random() % 2 == 0 ? kNone : 1 + random() % 100'000,
                         now);
        break;
      case 11:
        if (random() % 2 == 0)
          queue.SetWeight(flow, 1 + random() % 10);
        else
          queue.Forget(flow);
        break;
    }
    REQUIRE(queue.size() == waiting.size());
    REQUIRE(queue.in_flight() == flying.size());
  }
  queue.LiftCaps();
  while (pop()) {
  }
  CHECK(waiting.empty());
  CHECK_FALSE(queue.HasNext());
}

}  // namespace
}  // namespace forebay::schedule
