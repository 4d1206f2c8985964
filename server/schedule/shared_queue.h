#ifndef FOREBAY_SERVER_SCHEDULE_SHARED_QUEUE_H_
#define FOREBAY_SERVER_SCHEDULE_SHARED_QUEUE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/base/check.h"
#include "server/schedule/fair_queue.h"
#include "server/schedule/flow.h"
#include "server/schedule/token_bucket.h"

namespace forebay::schedule {

// The part of the resource that an item takes, in two measures.
struct Load {
  // The cost that the item's flows pay, and that decides their turns; positive.
  std::int64_t cost = 1;
  // The units that caps and the limit count, such as bytes.
  std::int64_t units = 0;
};

// A fair queue with caps, and with items that several flows want.
//
// A shared item waits among the items of each flow that wants it. The item is
// popped at the first turn of any of these flows, and all of them pay an equal
// part. A flow that comes to want an item already in flight takes over a part
// of what the others were charged.
//
// A cap is a token bucket. While a flow's cap does not let its next item
// through, Pop passes over the flow. Other flows get its turns for good. In any
// period, a flow takes at most its rate times the period, plus the burst or, if
// that is larger, one item. If a flow without a cap wants an item too, no cap
// holds up or counts the item. If only flows with caps want it, all its units
// count for the cap of the flow at whose turn it is popped. The limit is a cap
// of all flows together.
//
// An owner may declare an item in flight stalled, because its resource does not
// answer. The item then leaves in_flight(), and others are sent in its place.
// The item counts as stalled for each flow that wants it. Pop passes over a
// flow with `most_stalled` stalled items until one is done or resumed.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe;
// the caller locks. Owns the items. Never blocks. No errors.
template <typename Item>
class SharedQueue {
 public:
  // The number of an item from Push to Complete; never 0, never used again.
  using Id = std::uint64_t;
  struct Popped {
    Id id;
    Item item;
  };

  // A cap's burst, in units, is what its rate allows in this many seconds.
  static constexpr double kBurstSeconds = 0.1;

  // Pop skips flows with `most_stalled` (at least 1) stalled items.
  explicit SharedQueue(std::size_t most_stalled = SIZE_MAX)
      : most_stalled_(most_stalled) {}
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;

  // Adds an item that one flow wants. The flow's item with the smallest
  // `urgency` goes first.
  Id Push(Flow flow, const Load& load, std::uint64_t urgency, Item item) {
    const Id id = ++last_id_;
    const Load taken = AtLeastOne(load);
    entries_.emplace(id, Entry{taken, flow, {}, 1, std::move(item)});
    queue_.Push(flow, taken.cost, urgency, id);
    return id;
  }

  // Adds an item that all of these flows want: at least one flow, none twice.
  Id PushFor(std::span<const Flow> flows, const Load& load,
             std::uint64_t urgency, Item item) {
    FOREBAY_CHECK(!flows.empty());
    const Id id = Push(flows.front(), load, urgency, std::move(item));
    for (const Flow other : flows.subspan(1)) Share(id, other, urgency);
    return id;
  }

  // Adds a flow that wants the item too. Ignores an item that is done.
  void Share(Id id, Flow flow, std::uint64_t urgency) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    const bool joins = !entry.IsWantedBy(flow);
    if (entry.item.has_value()) {
      // Take divides the cost among the flows when the item is popped.
      queue_.Push(flow, entry.load.cost, urgency, id);
      ++entry.places;
    } else if (joins) {
      const double before = entry.part();
      const double after = before / (1 + before);
      ChargeAll(entry, entry.load.cost, after - before);
      Charge(flow, entry.load.cost, after);
    }
    if (!joins) return;
    entry.others.push_back(flow);
    if (entry.stalled) ++stalled_by_flow_[flow];
  }

  // Pops the next item. Returns nullopt if nothing waits, or if caps, the limit
  // or stalled items hold up every waiting item. Each popped item needs one
  // Complete.
  std::optional<Popped> Pop(std::int64_t now_nanos) {
    return Pop(now_nanos, [](const Item&) { return Turn::kTake; });
  }

  // Pops for a server that decides by `choose`, as FairQueue::Next says.
  // `choose` is called as Turn(const Item&), on items that no cap holds up.
  template <typename Choose>
  std::optional<Popped> Pop(std::int64_t now_nanos, Choose choose) {
    ReleaseDue(now_nanos);
    limit_ready_ = INT64_MAX;
    while (const auto next = NextFor(now_nanos, choose)) {
      Entry& entry = entries_.find(*next->item)->second;
      if (HoldsUp(next->flow, entry, now_nanos)) continue;
      if (limit_.has_value()) {
        const std::int64_t ready =
            limit_->ReadyAt(static_cast<double>(entry.load.units), now_nanos);
        if (ready > now_nanos) {
          limit_ready_ = ready;
          return std::nullopt;
        }
      }
      return Take(next->flow, &entry, now_nanos);
    }
    return std::nullopt;
  }

  // Returns when an item that a cap or the limit held up at the last Pop may
  // pass; INT64_MAX if there is no such item.
  std::int64_t NextAt() const {
    return held_.empty() ? limit_ready_
                         : std::min(limit_ready_, held_.begin()->first);
  }

  // Notes that a popped item is done and has taken `load`. The flows are
  // charged the difference from the estimate.
  void Complete(Id id, const Load& load, std::int64_t now_nanos) {
    const auto found = entries_.find(id);
    FOREBAY_CHECK(found != entries_.end() && !found->second.item.has_value());
    if (found->second.stalled) Resume(id);
    const Entry& entry = found->second;
    const Load actual = AtLeastOne(load);
    const Load correction = {actual.cost - entry.load.cost,
                             actual.units - entry.load.units};
    ChargeAll(entry, correction.cost, entry.part());
    if (entry.counts) Count(entry.flow, correction.units, now_nanos);
    if (limit_.has_value())
      limit_->Charge(static_cast<double>(correction.units), now_nanos);
    queue_.Complete(entry.flow, entry.load.cost, entry.load.cost);
    entries_.erase(found);
    --in_flight_;
  }

  // Takes a popped item out of in_flight(), and counts it as stalled. Ignores
  // an item that waits, is stalled already, or is done.
  void Stall(Id id) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.item.has_value() ||
        std::exchange(found->second.stalled, true))
      return;
    --in_flight_;
    ++stalled_;
    ++stalled_by_flow_[found->second.flow];
    for (const Flow other : found->second.others) ++stalled_by_flow_[other];
  }

  // Counts a stalled item in in_flight() again; ignores all other items.
  void Resume(Id id) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || !std::exchange(found->second.stalled, false))
      return;
    ++in_flight_;
    --stalled_;
    LeaveStalled(found->second.flow);
    for (const Flow other : found->second.others) LeaveStalled(other);
  }

  void SetWeight(Flow flow, double weight) { queue_.SetWeight(flow, weight); }

  // Sets the flow's cap, in units a second. Positive; infinity, the default,
  // means no cap.
  void SetCap(Flow flow, double rate, std::int64_t now_nanos) {
    Release(flow);
    caps_.erase(flow);
    if (std::isfinite(rate))
      caps_.emplace(flow, Cap{Bucket(rate, now_nanos), std::nullopt});
  }
  // Sets the limit of all flows together, in units a second; infinity means no
  // limit.
  void SetLimit(double rate, std::int64_t now_nanos) {
    limit_.reset();
    if (std::isfinite(rate)) limit_.emplace(Bucket(rate, now_nanos));
  }
  // Removes all caps and limits, so that an owner that ends can pop all items.
  void LiftCaps() {
    while (!held_.empty()) Release(held_.begin()->second);
    caps_.clear();
    limit_.reset();
    most_stalled_ = SIZE_MAX;
    for (const auto& [flow, count] : stalled_by_flow_) queue_.Release(flow);
  }

  // Forgets the flow's cap at once, and its weight as FairQueue::Forget does.
  void Forget(Flow flow) {
    Release(flow);
    caps_.erase(flow);
    queue_.Forget(flow);
  }

  // Returns whether any waiting item was not held up at the last Pop.
  bool HasNext() const { return queue_.Next().has_value(); }
  // Returns whether Pop with the same `choose` might return an item. Returns
  // false while the limit holds an item up.
  template <typename Choose>
  bool HasNext(std::int64_t now_nanos, Choose choose) {
    ReleaseDue(now_nanos);
    return limit_ready_ == INT64_MAX && NextFor(now_nanos, choose).has_value();
  }
  // Returns the number of waiting items, including those that are held up.
  std::size_t size() const { return entries_.size() - in_flight_ - stalled_; }
  bool empty() const { return size() == 0; }
  // Returns the number of popped items that are neither complete nor stalled.
  std::size_t in_flight() const { return in_flight_; }
  std::size_t stalled() const { return stalled_; }

 private:
  struct Entry {
    Load load;
    // The flow whose turn took the item; before that, any flow that wants it.
    Flow flow;
    std::vector<Flow> others;
    // The number of times that the item waits in queue_, by Push or Share.
    std::size_t places;
    // The item until it is popped.
    std::optional<Item> item;
    // Whether the item's units count for the cap of `flow`.
    bool counts = false;
    bool stalled = false;

    bool IsWantedBy(Flow wanted) const {
      return flow == wanted ||
             std::find(others.begin(), others.end(), wanted) != others.end();
    }
    // The part of the cost that each flow pays.
    double part() const {
      return 1.0 / (1.0 + static_cast<double>(others.size()));
    }
  };
  struct Cap {
    TokenBucket bucket;
    std::optional<std::int64_t> held_until;
  };

  static Load AtLeastOne(const Load& load) {
    return {std::max<std::int64_t>(load.cost, 1), load.units};
  }
  static TokenBucket Bucket(double rate, std::int64_t now_nanos) {
    return TokenBucket(rate, rate * kBurstSeconds, now_nanos);
  }

  // Returns whether only flows with caps want the item.
  bool CountsForCaps(const Entry& entry) const {
    return caps_.contains(entry.flow) &&
           std::all_of(entry.others.begin(), entry.others.end(),
                       [this](Flow other) { return caps_.contains(other); });
  }

  // Returns the item that the server takes, or an earlier item that is held up
  // by its flow's cap or stalled items. Pop then holds that flow and asks
  // again.
  template <typename Choose>
  auto NextFor(std::int64_t now_nanos, Choose choose) {
    return queue_.Next([&](Flow flow, Id id) {
      const Entry& entry = entries_.find(id)->second;
      if (ReadyAt(flow, entry, now_nanos) > now_nanos) return Turn::kTake;
      return choose(*entry.item);
    });
  }

  // Returns when the flow's cap lets the item pass; INT64_MAX if one of the
  // flow's stalled items must be done first.
  std::int64_t ReadyAt(Flow flow, const Entry& entry, std::int64_t now_nanos) {
    if (HasTooManyStalled(flow)) return INT64_MAX;
    const auto cap = caps_.find(flow);
    if (cap == caps_.end() || !CountsForCaps(entry)) return now_nanos;
    return cap->second.bucket.ReadyAt(static_cast<double>(entry.load.units),
                                      now_nanos);
  }

  // Holds the flow if its stalled items or its cap do not let the item pass.
  bool HoldsUp(Flow flow, const Entry& entry, std::int64_t now_nanos) {
    const std::int64_t ready = ReadyAt(flow, entry, now_nanos);
    if (ready <= now_nanos) return false;
    queue_.Hold(flow);
    if (HasTooManyStalled(flow)) return true;
    caps_.find(flow)->second.held_until = ready;
    held_.insert({ready, flow});
    return true;
  }

  bool HasTooManyStalled(Flow flow) const {
    const auto found = stalled_by_flow_.find(flow);
    return found != stalled_by_flow_.end() && found->second >= most_stalled_;
  }

  // Counts one stalled item less for the flow, and releases the flow.
  void LeaveStalled(Flow flow) {
    const auto found = stalled_by_flow_.find(flow);
    if (--found->second == 0) stalled_by_flow_.erase(found);
    Release(flow);
    queue_.Release(flow);
  }

  // Releases the flows whose caps have held them until now.
  void ReleaseDue(std::int64_t now_nanos) {
    while (!held_.empty() && held_.begin()->first <= now_nanos)
      Release(held_.begin()->second);
  }

  // Releases a flow that its cap has held; does nothing for other flows.
  void Release(Flow flow) {
    const auto cap = caps_.find(flow);
    if (cap == caps_.end() || !cap->second.held_until.has_value()) return;
    held_.erase({*cap->second.held_until, flow});
    cap->second.held_until.reset();
    queue_.Release(flow);
  }

  // Pops the flow's next item, whose entry is `entry`.
  Popped Take(Flow flow, Entry* entry, std::int64_t now_nanos) {
    const Id id = queue_.Pop(flow).item;
    if (flow != entry->flow) {
      *std::find(entry->others.begin(), entry->others.end(), flow) =
          std::exchange(entry->flow, flow);
    }
    if (entry->places > 1) {
      queue_.Withdraw(entry->flow, id);
      for (const Flow other : entry->others) queue_.Withdraw(other, id);
    }
    if (!entry->others.empty()) {
      // queue_.Pop has charged the whole cost to the flow whose turn it was.
      queue_.Charge(entry->flow, -static_cast<double>(entry->load.cost));
      ChargeAll(*entry, entry->load.cost, entry->part());
    }
    entry->counts = CountsForCaps(*entry);
    if (entry->counts) Count(entry->flow, entry->load.units, now_nanos);
    if (limit_.has_value())
      limit_->Charge(static_cast<double>(entry->load.units), now_nanos);
    ++in_flight_;
    Popped popped = {id, *std::move(entry->item)};
    entry->item.reset();
    return popped;
  }

  // Charges a part of the cost to each flow that wants the entry.
  void ChargeAll(const Entry& entry, std::int64_t cost, double part) {
    Charge(entry.flow, cost, part);
    for (const Flow other : entry.others) Charge(other, cost, part);
  }
  void Charge(Flow flow, std::int64_t cost, double part) {
    if (cost != 0) queue_.Charge(flow, static_cast<double>(cost) * part);
  }
  // Takes the units from the flow's cap, if any, and releases the flow.
  void Count(Flow flow, std::int64_t units, std::int64_t now_nanos) {
    const auto cap = caps_.find(flow);
    if (cap == caps_.end()) return;
    cap->second.bucket.Charge(static_cast<double>(units), now_nanos);
    Release(flow);
  }

  FairQueue<Id> queue_;
  // The items that wait, are in flight or are stalled.
  std::unordered_map<Id, Entry> entries_;
  std::unordered_map<Flow, Cap> caps_;
  // The flows that caps hold, by the time at which their next items may pass.
  std::set<std::pair<std::int64_t, Flow>> held_;
  std::optional<TokenBucket> limit_;
  std::int64_t limit_ready_ = INT64_MAX;
  Id last_id_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t most_stalled_;
  std::size_t stalled_ = 0;
  std::unordered_map<Flow, std::size_t> stalled_by_flow_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_SHARED_QUEUE_H_
