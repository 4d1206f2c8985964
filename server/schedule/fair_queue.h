#ifndef FOREBAY_SERVER_SCHEDULE_FAIR_QUEUE_H_
#define FOREBAY_SERVER_SCHEDULE_FAIR_QUEUE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/base/check.h"
#include "server/schedule/flow.h"

namespace forebay::schedule {

// The decision about an item of a server that looks for work.
enum class Turn {
  kTake,   // This server takes the item.
  kPass,   // A server of another kind is free to take the item.
  kAwait,  // The item waits for a server of another kind; all of these are
           // busy.
};

// Shares a resource among flows in proportion to their weights: start-time fair
// queueing with several items in flight, SFQ(D). Source: Jin, Chase and Kaur,
// "Interposed proportional sharing for a storage service utility", SIGMETRICS
// 2004.
//
// The math: a flow's next item starts at tag S; once popped, the flow's next
// start is S + cost / weight. The smallest start goes first, and virtual time v
// is the start popped last. A flow that was idle starts at max(v, its own tag):
// it saves up nothing, and owes nothing that the others have not had as well.
// An item's real cost corrects its flow's tag when the item completes. While
// any item waits, Pop returns one: no capacity is left unused. Pop passes over
// only a flow that is held, which saves up nothing meanwhile either.
//
// Between two flows that wait all the time, the services popped, each divided
// by its weight, differ by at most the sum of both flows' largest cost /
// weight; if estimates are wrong, by that plus the errors of the items in
// flight.
//
// Within a flow the smallest urgency goes first, then the oldest.
//
// Items may need servers of different kinds. An item that waits for a busy
// server keeps its place. Until that server is free, other items may overtake
// it whose start is less than where the waiting item would end, if it cost as
// much as the largest item in flight: each flow gets ahead of it by at most the
// cost / weight of one such item.
//
// Not thread-safe; the caller locks. Owns the items. Never blocks, reads no
// clock. No errors.
template <typename Item>
class FairQueue {
 public:
  struct Popped {
    Flow flow;
    std::int64_t cost;  // the estimate, for Complete
    Item item;
  };
  struct Front {
    Flow flow;
    const Item* item;
  };

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // Costs are in any unit, the same for all; those below 1 count as 1.
  void Push(Flow flow, std::int64_t cost, std::uint64_t urgency, Item item) {
    FlowState& state = flows_[flow];
    if (state.waiting.empty()) {
      state.start = std::max(state.start, virtual_time_);
      if (!state.held) backlog_.insert({state.start, flow, &state});
    }
    state.waiting.push_back({urgency, next_sequence_++,
                             std::max<std::int64_t>(cost, 1),
                             Keep(std::move(item))});
    std::push_heap(state.waiting.begin(), state.waiting.end(), Later);
    ++size_;
  }

  // Returns what Pop would return.
  std::optional<Front> Next() const {
    if (backlog_.empty()) return std::nullopt;
    const Backlogged& first = *backlog_.begin();
    return Front{first.flow, &items_[first.state->waiting.front().item]};
  }

  // Returns the item that a server takes which decides by `choose`, called as
  // Turn(Flow, const Item&) on the next item of each flow, in order of starts.
  template <typename Choose>
  std::optional<Front> Next(Choose choose) const {
    double end = std::numeric_limits<double>::infinity();
    for (const Backlogged& each : backlog_) {
      if (each.start >= end) break;
      const Waiting& next = each.state->waiting.front();
      const Item& item = items_[next.item];
      const Turn turn = choose(each.flow, item);
      if (turn == Turn::kTake) return Front{each.flow, &item};
      if (turn == Turn::kAwait)
        end = std::min(
            end, each.start + AwaitedCost(next.cost) / each.state->weight);
    }
    return std::nullopt;
  }

  // Returns nullopt if nothing waits, or all that waits is held. Each popped
  // item needs one Complete.
  std::optional<Popped> Pop() {
    if (backlog_.empty()) return std::nullopt;
    return Pop(backlog_.begin()->flow);
  }

  // Pops the next item of a flow that has one and is not held.
  Popped Pop(Flow flow) {
    FlowState& state = flows_.find(flow)->second;
    auto node = backlog_.extract({state.start, flow, &state});
    FOREBAY_CHECK(!node.empty());
    std::pop_heap(state.waiting.begin(), state.waiting.end(), Later);
    const Waiting taken = state.waiting.back();
    state.waiting.pop_back();
    --size_;

    virtual_time_ = std::max(virtual_time_, state.start);
    state.start += taken.cost / state.weight;
    last_finish_ = std::max(last_finish_, state.start);
    ++state.in_flight;
    ++in_flight_;
    costs_in_flight_.insert(taken.cost);
    if (!state.waiting.empty()) {
      node.value().start = state.start;
      backlog_.insert(std::move(node));
    }
    free_.push_back(taken.item);
    return Popped{flow, taken.cost, std::move(items_[taken.item])};
  }

  // A popped item is done: its cost was estimated as `estimated`, and was
  // `actual`.
  void Complete(Flow flow, std::int64_t estimated, std::int64_t actual) {
    const auto found = flows_.find(flow);
    FOREBAY_CHECK(found != flows_.end() && found->second.in_flight > 0);
    FlowState& state = found->second;
    Shift(flow, &state, std::max<std::int64_t>(actual, 1) - estimated);
    --state.in_flight;
    const auto cost = costs_in_flight_.find(estimated);
    FOREBAY_CHECK(cost != costs_in_flight_.end());
    costs_in_flight_.erase(cost);
    // An idle queue forgives what flows owed.
    if (--in_flight_ == 0 && size_ == 0)
      virtual_time_ = std::max(virtual_time_, last_finish_);
    EraseIfForgotten(found);
  }

  // Charges the flow `cost` more or, below 0, less. Ignores an unknown flow.
  void Charge(Flow flow, double cost) {
    const auto found = flows_.find(flow);
    if (found == flows_.end()) return;
    FlowState& state = found->second;
    // As if the flow had come and been served just now.
    if (cost > 0 && state.waiting.empty())
      state.start = std::max(state.start, virtual_time_);
    Shift(flow, &state, cost);
  }

  // Removes all waiting items of the flow that are equal to `item`.
  void Withdraw(Flow flow, const Item& item) {
    const auto found = flows_.find(flow);
    if (found == flows_.end() || found->second.waiting.empty()) return;
    FlowState& state = found->second;
    const std::size_t withdrawn =
        std::erase_if(state.waiting, [&](const Waiting& waiting) {
          if (!(items_[waiting.item] == item)) return false;
          free_.push_back(waiting.item);
          return true;
        });
    size_ -= withdrawn;
    std::make_heap(state.waiting.begin(), state.waiting.end(), Later);
    if (withdrawn > 0 && state.waiting.empty() && !state.held)
      backlog_.erase({state.start, flow, &state});
    EraseIfForgotten(found);
  }

  // Passes the flow over until Release.
  void Hold(Flow flow) {
    FlowState& state = flows_[flow];
    if (!state.waiting.empty() && !state.held)
      backlog_.erase({state.start, flow, &state});
    state.held = true;
  }
  void Release(Flow flow) {
    const auto found = flows_.find(flow);
    if (found == flows_.end() || !found->second.held) return;
    FlowState& state = found->second;
    state.held = false;
    if (state.waiting.empty()) return;
    state.start = std::max(state.start, virtual_time_);
    backlog_.insert({state.start, flow, &state});
  }

  // From the next Pop on; 1 until set. `weight` is positive and finite.
  void SetWeight(Flow flow, double weight) {
    FOREBAY_CHECK(weight > 0 && std::isfinite(weight));
    FlowState& state = flows_[flow];
    state.weight = weight;
    state.forgotten = false;
  }

  // Forgets the flow and its weight once it has nothing waiting and nothing in
  // flight.
  void Forget(Flow flow) {
    const auto found = flows_.find(flow);
    if (found == flows_.end()) return;
    found->second.forgotten = true;
    EraseIfForgotten(found);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t size(Flow flow) const {
    const auto found = flows_.find(flow);
    return found == flows_.end() ? 0 : found->second.waiting.size();
  }
  std::size_t in_flight() const { return in_flight_; }
  // Returns the number of known flows: those that ever had an item or a weight,
  // and were not forgotten.
  std::size_t flows() const { return flows_.size(); }

 private:
  struct Waiting {
    std::uint64_t urgency;
    std::uint64_t sequence;
    std::int64_t cost;
    std::size_t item;  // its place in items_: a heap moves what it orders
  };

  struct FlowState {
    double weight = 1;
    double start = 0;  // of the next item
    std::size_t in_flight = 0;
    bool held = false;
    bool forgotten = false;
    std::vector<Waiting> waiting;  // a heap: the next in front
  };

  struct Backlogged {
    double start;
    Flow flow;
    FlowState* state;
    bool operator<(const Backlogged& other) const {
      return std::tie(start, flow) < std::tie(other.start, other.flow);
    }
  };

  static bool Later(const Waiting& a, const Waiting& b) {
    return std::tie(a.urgency, a.sequence) > std::tie(b.urgency, b.sequence);
  }

  std::size_t Keep(Item item) {
    if (free_.empty()) {
      items_.push_back(std::move(item));
      return items_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    items_[place] = std::move(item);
    return place;
  }

  // The cost that others may take before an item of `cost` that awaits its
  // server: as much as that server may still need for the items before.
  double AwaitedCost(std::int64_t cost) const {
    const std::int64_t longest =
        costs_in_flight_.empty() ? 0 : *costs_in_flight_.rbegin();
    return static_cast<double>(std::max(cost, longest));
  }

  // Moves the flow's next start by what `cost` is worth to it.
  void Shift(Flow flow, FlowState* state, double cost) {
    const double start = state->start + cost / state->weight;
    if (!state->waiting.empty() && !state->held) {
      auto node = backlog_.extract({state->start, flow, state});
      node.value().start = start;
      backlog_.insert(std::move(node));
    }
    state->start = start;
    last_finish_ = std::max(last_finish_, start);
  }

  void EraseIfForgotten(
      typename std::unordered_map<Flow, FlowState>::iterator found) {
    const FlowState& state = found->second;
    if (state.forgotten && state.waiting.empty() && state.in_flight == 0)
      flows_.erase(found);
  }

  std::unordered_map<Flow, FlowState> flows_;
  std::vector<Item> items_;        // that wait, and empty places
  std::vector<std::size_t> free_;  // places of items_
  std::set<Backlogged> backlog_;  // flows that have items waiting, but the held
  double virtual_time_ = 0;
  double last_finish_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;
  std::size_t in_flight_ = 0;
  std::multiset<std::int64_t> costs_in_flight_;  // estimates
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_FAIR_QUEUE_H_
