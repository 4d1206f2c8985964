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

// The decision about one waiting item by a server, such as a thread, that looks
// for work.
enum class Turn {
  // This server takes the item.
  kTake,
  // The item needs a server of another kind, and such a server is free.
  kPass,
  // The item needs a server of another kind, and all such servers are busy.
  kAwait,
};

// Shares a resource among flows in proportion to their weights: start-time fair
// queueing with several items in flight, SFQ(D). Source: Jin, Chase and Kaur,
// "Interposed proportional sharing for a storage service utility", SIGMETRICS
// 2004.
//
// The math: the next item of a flow has a start tag S. When the item is popped,
// the flow's next start tag becomes S + cost / weight. Pop takes the item with
// the smallest start tag, and virtual time v is the start tag that was popped
// last. A flow that was idle starts at max(v, its own tag). An idle flow thus
// saves up no service, and owes at most the service that it had before the
// others. When an item completes, its real cost corrects its flow's tag. While
// any item waits, Pop returns one: no capacity is left unused. Pop passes over
// held flows only. A held flow saves up no service either.
//
// Fairness: consider two flows that always have items waiting. For each flow,
// divide the cost of the popped items by the flow's weight. The two quotients
// differ by at most the sum of both flows' largest cost / weight. If estimates
// are wrong, the errors of the items in flight add to the difference.
//
// Within a flow, the item with the smallest `urgency` goes first, and among
// equals the oldest.
//
// Items may need servers of different kinds. An item that waits for a busy
// server keeps its place. Until that server is free, items of other flows may
// overtake the waiting item if their start is below the waiting item's end.
// This end is computed as if the waiting item cost at least as much as the
// largest item in flight. Each flow thus gets ahead by at most the cost /
// weight of one such item.
//
// Running time: Push, Pop and Complete take time logarithmic in the numbers of
// flows that wait, of the flow's items, and of items in flight. Withdraw takes
// time linear in the number of the flow's waiting items.
//
// Not thread-safe; the caller locks. Owns the items. Never blocks, reads no
// clock. No errors.
template <typename Item>
class FairQueue {
 public:
  struct Popped {
    Flow flow;
    // The estimated cost, to be passed to Complete.
    std::int64_t cost;
    Item item;
  };
  // The item that would be popped next. `item` is valid until the queue
  // changes.
  struct Front {
    Flow flow;
    const Item* item;
  };

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // Adds an item. Costs are in any unit, the same for all items; a cost below 1
  // counts as 1.
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

  // Returns the item that Pop would return, which stays in the queue.
  std::optional<Front> Next() const {
    if (backlog_.empty()) return std::nullopt;
    const Backlogged& first = *backlog_.begin();
    return Front{first.flow, &items_[first.state->waiting.front().item]};
  }

  // Returns the item that a server takes, or nullopt if it takes none. The
  // server decides by `choose`, which is called as Turn(Flow, const Item&) on
  // the next item of each flow, in the order of their start tags.
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

  // Pops the item with the smallest start. Returns nullopt if no item waits, or
  // only items of held flows wait. Each popped item needs one Complete.
  std::optional<Popped> Pop() {
    if (backlog_.empty()) return std::nullopt;
    return Pop(backlog_.begin()->flow);
  }

  // Pops the next item of `flow`, which has a waiting item and is not held.
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

  // Notes that a popped item is done. Its cost was estimated as `estimated`,
  // and was `actual`.
  void Complete(Flow flow, std::int64_t estimated, std::int64_t actual) {
    const auto found = flows_.find(flow);
    FOREBAY_CHECK(found != flows_.end() && found->second.in_flight > 0);
    FlowState& state = found->second;
    Shift(flow, &state, std::max<std::int64_t>(actual, 1) - estimated);
    --state.in_flight;
    const auto cost = costs_in_flight_.find(estimated);
    FOREBAY_CHECK(cost != costs_in_flight_.end());
    costs_in_flight_.erase(cost);
    // An idle queue forgives what flows owe, because no other flow waits.
    if (--in_flight_ == 0 && size_ == 0)
      virtual_time_ = std::max(virtual_time_, last_finish_);
    EraseIfForgotten(found);
  }

  // Charges the flow `cost` more, or less if `cost` is negative. Ignores an
  // unknown flow.
  void Charge(Flow flow, double cost) {
    const auto found = flows_.find(flow);
    if (found == flows_.end()) return;
    FlowState& state = found->second;
    // The charge is for service that is given now. A tag that lags behind
    // virtual time would absorb the charge, so the tag catches up first.
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

  // Makes Pop and Next pass over the flow until Release.
  void Hold(Flow flow) {
    FlowState& state = flows_[flow];
    if (!state.waiting.empty() && !state.held)
      backlog_.erase({state.start, flow, &state});
    state.held = true;
  }
  // Ends Hold. The flow continues at virtual time, if its tag lags behind.
  void Release(Flow flow) {
    const auto found = flows_.find(flow);
    if (found == flows_.end() || !found->second.held) return;
    FlowState& state = found->second;
    state.held = false;
    if (state.waiting.empty()) return;
    state.start = std::max(state.start, virtual_time_);
    backlog_.insert({state.start, flow, &state});
  }

  // Sets the flow's weight from the next Pop on. The weight is 1 until set.
  // `weight` is positive and finite.
  void SetWeight(Flow flow, double weight) {
    FOREBAY_CHECK(weight > 0 && std::isfinite(weight));
    FlowState& state = flows_[flow];
    state.weight = weight;
    state.forgotten = false;
  }

  // Forgets the flow and its weight as soon as none of its items waits or is in
  // flight.
  void Forget(Flow flow) {
    const auto found = flows_.find(flow);
    if (found == flows_.end()) return;
    found->second.forgotten = true;
    EraseIfForgotten(found);
  }

  bool empty() const { return size_ == 0; }
  // Returns the number of waiting items, including those of held flows.
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
    // The number of the Push. The item with the smaller number is older.
    std::uint64_t sequence;
    std::int64_t cost;
    // The index in items_. The heap moves its elements, which are thus kept
    // small.
    std::size_t item;
  };

  struct FlowState {
    double weight = 1;
    // The start tag of the flow's next item.
    double start = 0;
    std::size_t in_flight = 0;
    bool held = false;
    bool forgotten = false;
    // A heap by Later, with the next item in front.
    std::vector<Waiting> waiting;
  };

  // A flow in the backlog, ordered by its start tag, then by its number.
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

  // Stores an item in a free element of items_. Returns its index.
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

  // Returns how much cost other flows may take while an item of `cost` awaits
  // its server. The server may still be busy with an item as large as the
  // largest one in flight.
  double AwaitedCost(std::int64_t cost) const {
    const std::int64_t longest =
        costs_in_flight_.empty() ? 0 : *costs_in_flight_.rbegin();
    return static_cast<double>(std::max(cost, longest));
  }

  // Moves the flow's next start by cost / weight, and keeps the backlog
  // ordered.
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
  // Waiting items, and free elements.
  std::vector<Item> items_;
  // Indices of the free elements of items_.
  std::vector<std::size_t> free_;
  // Flows that have items waiting and are not held.
  std::set<Backlogged> backlog_;
  double virtual_time_ = 0;
  // The largest start + cost / weight of all items popped so far.
  double last_finish_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;
  std::size_t in_flight_ = 0;
  // The estimated costs of the popped items that are not complete.
  std::multiset<std::int64_t> costs_in_flight_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_FAIR_QUEUE_H_
