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

// What an item takes of the resource.
struct Load {
  std::int64_t cost = 1;   // that its flows' shares pay for, at least 1
  std::int64_t units = 0;  // that caps and the limit count
};

// A fair queue that knows caps, and items that several flows want.
//
// A shared item waits among those of each flow that wants it. Whose turn comes
// first takes it for all, so it has the most urgent one's place; and all pay
// the same part of it. Who wants an item that is in flight already takes a part
// of what the others were charged.
//
// A cap is a token bucket. A flow whose next item it does not let through is
// passed over, and the others have its turns, until it does; what it was passed
// over for is lost to it. Over any time, a flow takes at most its rate times
// that, and the burst or, if that is larger, one item more. An item that a flow
// without a cap wants is held up by no cap, and counts for none; of one that
// only flows with caps want, all counts for whose turn takes it. The limit
// holds up all flows together.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe;
// the caller locks. Owns the items. Never blocks. No errors.
template <typename Item>
class SharedQueue {
 public:
  // Of an item, from Push to Complete; never 0, never used again.
  using Id = std::uint64_t;
  struct Popped {
    Id id;
    Item item;
  };

  // What a bucket saves up, in seconds at its rate.
  static constexpr double kBurstSeconds = 0.1;

  SharedQueue() = default;
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;

  Id Push(Flow flow, const Load& load, std::uint64_t urgency, Item item) {
    const Id id = ++last_id_;
    const Load taken = AtLeastOne(load);
    entries_.emplace(id, Entry{taken, flow, {}, 1, std::move(item)});
    queue_.Push(flow, taken.cost, urgency, id);
    return id;
  }

  // An item that all of these want: at least one, none of them twice.
  Id PushFor(std::span<const Flow> flows, const Load& load,
             std::uint64_t urgency, Item item) {
    FOREBAY_CHECK(!flows.empty());
    const Id id = Push(flows.front(), load, urgency, std::move(item));
    for (const Flow other : flows.subspan(1)) Share(id, other, urgency);
    return id;
  }

  // The flow wants the item too. Of one that is not known, because it is done,
  // it takes no notice.
  void Share(Id id, Flow flow, std::uint64_t urgency) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    const bool joins = !entry.IsWantedBy(flow);
    if (entry.item.has_value()) {
      // Who pays what is set right when it is popped.
      queue_.Push(flow, entry.load.cost, urgency, id);
      ++entry.places;
    } else if (joins) {
      const double before = entry.part();
      const double after = before / (1 + before);
      ChargeAll(entry, entry.load.cost, after - before);
      Charge(flow, entry.load.cost, after);
    }
    if (joins) entry.others.push_back(flow);
  }

  // Nothing when nothing waits, or caps or the limit hold up all that does.
  // Each popped item wants one Complete.
  std::optional<Popped> Pop(std::int64_t now_nanos) {
    while (!held_.empty() && held_.begin()->first <= now_nanos)
      Release(held_.begin()->second);
    limit_ready_ = INT64_MAX;
    while (const auto next = queue_.Next()) {
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
      return Take(&entry, now_nanos);
    }
    return std::nullopt;
  }

  // When what caps and the limit hold up may pass, as it was when Pop looked;
  // INT64_MAX: they hold up nothing.
  std::int64_t NextAt() const {
    return held_.empty() ? limit_ready_
                         : std::min(limit_ready_, held_.begin()->first);
  }

  // A popped item is done, and has really taken so much.
  void Complete(Id id, const Load& load, std::int64_t now_nanos) {
    const auto found = entries_.find(id);
    FOREBAY_CHECK(found != entries_.end() && !found->second.item.has_value());
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

  // As FairQueue says.
  void SetWeight(Flow flow, double weight) { queue_.SetWeight(flow, weight); }

  // The flow's cap, in units a second; positive, infinity: none, as until set.
  void SetCap(Flow flow, double rate, std::int64_t now_nanos) {
    Release(flow);
    caps_.erase(flow);
    if (std::isfinite(rate))
      caps_.emplace(flow, Cap{Bucket(rate, now_nanos), std::nullopt});
  }
  // Likewise of all flows together.
  void SetLimit(double rate, std::int64_t now_nanos) {
    limit_.reset();
    if (std::isfinite(rate)) limit_.emplace(Bucket(rate, now_nanos));
  }
  // For who ends and wants to pop all that waits.
  void LiftCaps() {
    while (!held_.empty()) Release(held_.begin()->second);
    caps_.clear();
    limit_.reset();
  }

  // Lets go of the flow's weight, once it has nothing waiting and nothing in
  // flight, and of its cap at once.
  void Forget(Flow flow) {
    Release(flow);
    caps_.erase(flow);
    queue_.Forget(flow);
  }

  // Whether something waits that no cap holds up, as far as Pop has looked.
  bool HasNext() const { return queue_.Next().has_value(); }
  // Items that wait, those that are held up included.
  std::size_t size() const { return entries_.size() - in_flight_; }
  bool empty() const { return size() == 0; }
  std::size_t in_flight() const { return in_flight_; }

 private:
  struct Entry {
    Load load;  // as estimated
    Flow flow;  // in whose turn it was popped, once it was
    std::vector<Flow> others;
    std::size_t places;        // in the queue
    std::optional<Item> item;  // while it waits
    bool counts = false;       // for a cap: that of whose turn took it

    bool IsWantedBy(Flow wanted) const {
      return flow == wanted ||
             std::find(others.begin(), others.end(), wanted) != others.end();
    }
    // What each pays of it.
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

  // Whether only flows with caps want the item.
  bool CountsForCaps(const Entry& entry) const {
    return caps_.contains(entry.flow) &&
           std::all_of(entry.others.begin(), entry.others.end(),
                       [this](Flow other) { return caps_.contains(other); });
  }

  // Holds the flow if its cap does not let the item through.
  bool HoldsUp(Flow flow, const Entry& entry, std::int64_t now_nanos) {
    const auto cap = caps_.find(flow);
    if (cap == caps_.end() || !CountsForCaps(entry)) return false;
    const std::int64_t ready = cap->second.bucket.ReadyAt(
        static_cast<double>(entry.load.units), now_nanos);
    if (ready <= now_nanos) return false;
    cap->second.held_until = ready;
    held_.insert({ready, flow});
    queue_.Hold(flow);
    return true;
  }

  void Release(Flow flow) {
    const auto cap = caps_.find(flow);
    if (cap == caps_.end() || !cap->second.held_until.has_value()) return;
    held_.erase({*cap->second.held_until, flow});
    cap->second.held_until.reset();
    queue_.Release(flow);
  }

  // Takes what is next, which is `entry`'s.
  Popped Take(Entry* entry, std::int64_t now_nanos) {
    const auto turn = queue_.Pop();
    const Id id = turn->item;
    if (turn->flow != entry->flow) {
      *std::find(entry->others.begin(), entry->others.end(), turn->flow) =
          std::exchange(entry->flow, turn->flow);
    }
    if (entry->places > 1) {
      queue_.Withdraw(entry->flow, id);
      for (const Flow other : entry->others) queue_.Withdraw(other, id);
    }
    if (!entry->others.empty()) {
      // The queue has charged all of it to whose turn it was.
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

  // Charges a part of the cost to each who wants the entry.
  void ChargeAll(const Entry& entry, std::int64_t cost, double part) {
    Charge(entry.flow, cost, part);
    for (const Flow other : entry.others) Charge(other, cost, part);
  }
  void Charge(Flow flow, std::int64_t cost, double part) {
    if (cost != 0) queue_.Charge(flow, static_cast<double>(cost) * part);
  }
  // Takes the units from the flow's cap, if it has one still.
  void Count(Flow flow, std::int64_t units, std::int64_t now_nanos) {
    const auto cap = caps_.find(flow);
    if (cap == caps_.end()) return;
    cap->second.bucket.Charge(static_cast<double>(units), now_nanos);
    Release(flow);  // the next Pop looks anew
  }

  FairQueue<Id> queue_;
  std::unordered_map<Id, Entry> entries_;  // that wait or are in flight
  std::unordered_map<Flow, Cap> caps_;
  std::set<std::pair<std::int64_t, Flow>> held_;  // by when they may pass
  std::optional<TokenBucket> limit_;
  std::int64_t limit_ready_ = INT64_MAX;
  Id last_id_ = 0;
  std::size_t in_flight_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_SHARED_QUEUE_H_
