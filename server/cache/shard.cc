#include "server/cache/shard.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {

Shard::Found Shard::Look(const ExtentView& extent,
                         const std::shared_ptr<const std::string>& root,
                         storage::ReadRequest& request, std::uint64_t memory,
                         std::int64_t now_nanos) {
  Found found;
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    auto flight = std::make_shared<Flight>();
    flight->purpose = request.purpose;
    flight->holding.bytes = memory;
    Entry entry;
    entry.flight = flight;
    const auto inserted = table_.emplace(Extent{.root = root,
                                                .object = request.object,
                                                .version = extent.version,
                                                .offset = extent.offset,
                                                .length = extent.length,
                                                .hash = extent.hash},
                                         std::move(entry));
    flight->extent = &inserted.first->first;
    Join(*flight, request, now_nanos);
    found.missed = std::move(flight);
    return found;
  }
  Entry& entry = known->second;
  if (entry.held == nullptr) {
    Flight& flight = *entry.flight;
    if (request.purpose.urgency < flight.purpose.urgency) {
      flight.purpose = request.purpose;
    }
    Join(flight, request, now_nanos);
    found.joined = flight.ticket;
    return found;
  }
  Holding& holding = roster_.At(entry.handle);
  Touch(&holding, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) holding.sample = request.sample;
  jobs_[request.purpose.job].memory.Add(extent.length);
  found.hit = entry.held;
  return found;
}

void Shard::Join(Flight& flight, storage::ReadRequest& request,
                 std::int64_t now_nanos) {
  Touch(&flight.holding, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) flight.holding.sample = request.sample;
  flight.waiters.push_back({request.purpose.job, std::move(request.done)});
}

storage::ReadPurpose Shard::Depart(Flight& flight, std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  flight.ticket = ticket;
  return flight.purpose;
}

std::vector<Flight::Waiter> Shard::Land(Flight& flight,
                                        std::shared_ptr<const Held> kept,
                                        bool ok, std::int64_t now_nanos) {
  std::shared_ptr<Flight> landed;  // let go of after the lock is
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(*flight.extent);
  FOREBAY_CHECK(known != table_.end());
  const std::uint64_t length = flight.extent->length;
  if (ok) {
    for (const Flight::Waiter& waiter : flight.waiters) {
      Traffic& traffic = jobs_[waiter.job];
      (&waiter == flight.waiters.data() ? traffic.source : traffic.shared)
          .Add(length);
    }
    if (kept == nullptr) bypassed_.Add(length);
  } else {
    ++failures_;
  }
  std::vector<Flight::Waiter> waiters = std::move(flight.waiters);
  Entry& entry = known->second;
  landed = std::move(entry.flight);
  if (kept == nullptr) {
    table_.erase(known);
    return waiters;
  }
  flight.holding.used_at_nanos = now_nanos;
  entry.handle = roster_.Add(flight.holding);
  if (entry.handle >= extents_.size()) extents_.resize(entry.handle + 1);
  extents_[entry.handle] = flight.extent;
  entry_bytes_ += flight.holding.bytes;
  entry.held = std::move(kept);
  return waiters;
}

void Shard::Draw(std::size_t count, base::PhiloxStream& random,
                 std::vector<Roster::Candidate>* drawn) const {
  base::MutexLock lock(&mutex_);
  roster_.Draw(count, random, drawn);
}

std::shared_ptr<const Held> Shard::Evict(const Roster::Candidate& candidate) {
  base::MutexLock lock(&mutex_);
  if (!roster_.Has(candidate)) return nullptr;
  const auto known = table_.find(*extents_[candidate.handle]);
  FOREBAY_CHECK(known != table_.end());
  // Nobody but us can make it two again while the lock is held.
  if (known->second.held.use_count() != 1) return nullptr;
  std::shared_ptr<const Held> held = std::move(known->second.held);
  evicted_.Add(known->first.length);
  entry_bytes_ -= candidate.holding.bytes;
  roster_.Remove(candidate.handle);
  extents_[candidate.handle] = nullptr;
  table_.erase(known);
  return held;
}

void Shard::Forget(std::uint64_t job) {
  base::MutexLock lock(&mutex_);
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) return;
  forgotten_.Add(known->second);
  jobs_.erase(known);
}

void Shard::AddTo(Snapshot* snapshot) const {
  base::MutexLock lock(&mutex_);
  snapshot->entries += roster_.size();
  snapshot->entry_bytes += entry_bytes_;
  snapshot->reads_in_flight += table_.size() - roster_.size();
  snapshot->total.Add(forgotten_);
  for (const auto& [job, traffic] : jobs_) {
    snapshot->jobs[job].Add(traffic);
    snapshot->total.Add(traffic);
  }
  snapshot->evicted.Add(evicted_);
  snapshot->bypassed.Add(bypassed_);
  snapshot->failures += failures_;
}

}  // namespace forebay::cache
