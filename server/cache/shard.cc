#include "server/cache/shard.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {

Shard::Found Shard::Look(const ExtentView& extent,
                         const std::shared_ptr<const std::string>& root,
                         storage::ReadRequest& request, std::uint64_t memory,
                         std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  Entry& entry = known->second;
  Found found;
  if (entry.held == nullptr) {
    JoinLocked(*entry.flight, request, now_nanos);
    found.joined = entry.flight->ticket;
    return found;
  }
  Holding& holding = roster_.At(entry.handle);
  Touch(&holding, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) holding.sample = request.sample;
  jobs_[request.purpose.job].memory.Add(extent.length);
  found.hit = entry.held;
  return found;
}

Shard::Found Shard::Doubt(const ExtentView& extent,
                          const std::shared_ptr<const std::string>& root,
                          storage::ReadRequest& request, std::uint64_t memory,
                          std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  // It was counted as a hit.
  TrafficLocked(request.purpose.job).memory.Remove(extent.length);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  Entry& entry = known->second;
  Found instead;
  if (entry.held == nullptr) {
    JoinLocked(*entry.flight, request, now_nanos);
    instead.joined = entry.flight->ticket;
    return instead;
  }
  // What was read anew meanwhile is as much in doubt as what was found.
  auto flight = std::make_shared<Flight>();
  flight->extent = &known->first;
  flight->holding = roster_.At(entry.handle);
  flight->confirms = GiveUpLocked(entry);
  entry.flight = flight;
  JoinLocked(*flight, request, now_nanos);
  instead.missed = std::move(flight);
  return instead;
}

Shard::Found Shard::MissLocked(const ExtentView& extent,
                               const std::shared_ptr<const std::string>& root,
                               storage::ReadRequest& request,
                               std::uint64_t memory, std::int64_t now_nanos) {
  auto flight = std::make_shared<Flight>();
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
  JoinLocked(*flight, request, now_nanos);
  Found found;
  found.missed = std::move(flight);
  return found;
}

void Shard::JoinLocked(Flight& flight, storage::ReadRequest& request,
                       std::int64_t now_nanos) {
  Touch(&flight.holding, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) flight.holding.sample = request.sample;
  jobs_.try_emplace(request.purpose.job);
  flight.waiters.push_back({request.purpose, std::move(request.done)});
}

storage::ReadPurpose Shard::Depart(Flight& flight) {
  base::MutexLock lock(&mutex_);
  const auto most_urgent =
      std::min_element(flight.waiters.begin(), flight.waiters.end(),
                       [](const auto& a, const auto& b) {
                         return a.purpose.urgency < b.purpose.urgency;
                       });
  flight.lead = most_urgent - flight.waiters.begin();
  return most_urgent->purpose;
}

std::vector<storage::ReadPurpose> Shard::Follow(Flight& flight,
                                                std::uint64_t ticket) {
  std::vector<storage::ReadPurpose> others;
  base::MutexLock lock(&mutex_);
  flight.ticket = ticket;
  for (std::size_t i = 0; i < flight.waiters.size(); ++i) {
    if (i != flight.lead) others.push_back(flight.waiters[i].purpose);
  }
  return others;
}

std::vector<Flight::Waiter> Shard::Land(Flight& flight,
                                        std::shared_ptr<const Held> kept,
                                        bool ok, std::int64_t now_nanos) {
  // Let go of after the lock is.
  std::shared_ptr<Flight> landed;
  std::shared_ptr<const Held> confirmed;
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(*flight.extent);
  FOREBAY_CHECK(known != table_.end());
  if (ok) {
    CountLocked(flight);
    if (kept == nullptr) bypassed_.Add(flight.extent->length);
  } else {
    ++failures_;
  }
  std::vector<Flight::Waiter> waiters =
      std::exchange(flight.waiters, std::vector<Flight::Waiter>());
  confirmed = std::move(flight.confirms);
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

Traffic& Shard::TrafficLocked(std::uint64_t job) {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? forgotten_ : known->second;
}

void Shard::CountLocked(const Flight& flight) {
  for (const Flight::Waiter& waiter : flight.waiters) {
    Traffic& traffic = TrafficLocked(waiter.purpose.job);
    const bool first = &waiter == flight.waiters.data();
    (flight.confirms != nullptr                ? traffic.memory
     : !first                                  ? traffic.shared
     : flight.origin == storage::Origin::kKept ? traffic.disk
                                               : traffic.source)
        .Add(flight.extent->length);
  }
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
  evicted_.Add(known->first.length);
  std::shared_ptr<const Held> held = GiveUpLocked(known->second);
  table_.erase(known);
  return held;
}

std::shared_ptr<const Held> Shard::GiveUpLocked(Entry& entry) {
  entry_bytes_ -= roster_.At(entry.handle).bytes;
  roster_.Remove(entry.handle);
  extents_[entry.handle] = nullptr;
  return std::exchange(entry.held, nullptr);
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
