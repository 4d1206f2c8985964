#include "server/cache/shard.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {
namespace {

// Who leads a flight that nobody waited for when it was sent.
constexpr std::size_t kNobody = SIZE_MAX;

// The extent by itself.
Extent Owned(const ExtentView& extent,
             const std::shared_ptr<const std::string>& root) {
  return {.root = root,
          .object = std::string(extent.object),
          .version = extent.version,
          .offset = extent.offset,
          .length = extent.length,
          .form = extent.form,
          .hash = extent.hash};
}

}  // namespace

Shard::Found Shard::Look(const ExtentView& extent,
                         const std::shared_ptr<const std::string>& root,
                         storage::ReadRequest& request, std::uint64_t memory,
                         std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  if (request.given != nullptr) *request.given = extent.form;
  Entry& entry = known->second;
  if (entry.held == nullptr) {
    return JoinedLocked(*entry.flight, request, now_nanos);
  }
  Found found;
  EntryMetadata& metadata = candidates_.At(entry.handle);
  Touch(&metadata, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) metadata.sample = request.sample;
  metadata.is_ahead = false;
  metadata.cover.reset();
  ++metadata.uses;
  jobs_[request.purpose.job].memory.Add(extent.length);
  if (extent.form != storage::kEncoded) decoded_.AddHit(metadata.saves_nanos);
  found.hit = entry.held;
  found.saves_nanos = metadata.saves_nanos;
  return found;
}

Shard::Found Shard::Doubt(const ExtentView& extent,
                          const std::shared_ptr<const std::string>& root,
                          storage::ReadRequest& request, std::uint64_t memory,
                          std::int64_t now_nanos, std::int64_t saves_nanos) {
  base::MutexLock lock(&mutex_);
  // It was counted as a hit.
  TrafficLocked(request.purpose.job).memory.Remove(extent.length);
  if (extent.form != storage::kEncoded) decoded_.RemoveHit(saves_nanos);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  Entry& entry = known->second;
  if (entry.held == nullptr) {
    return JoinedLocked(*entry.flight, request, now_nanos);
  }
  if (request.given != nullptr) *request.given = extent.form;
  // What was read anew meanwhile is as much in doubt as what was found.
  auto flight = std::make_shared<Flight>();
  flight->extent = &known->first;
  flight->wanted = request.version.revision;
  flight->metadata = candidates_.At(entry.handle);
  flight->confirms = GiveUpLocked(entry);
  entry.flight = flight;
  JoinLocked(*flight, request, now_nanos);
  Found instead;
  instead.missed = std::move(flight);
  return instead;
}

void Shard::InsertLocked(const ExtentView& extent,
                         const std::shared_ptr<const std::string>& root,
                         const std::shared_ptr<Flight>& flight) {
  Entry entry;
  entry.flight = flight;
  const auto inserted = table_.emplace(Owned(extent, root), std::move(entry));
  flight->extent = &inserted.first->first;
}

bool Shard::Knows(const ExtentView& extent) const {
  base::MutexLock lock(&mutex_);
  return table_.contains(extent);
}

std::shared_ptr<Flight> Shard::BeginAhead(
    const ExtentView& extent, const std::shared_ptr<const std::string>& root,
    const storage::ReadRequest& request, const EntryMetadata& metadata,
    Charge* charge) {
  base::MutexLock lock(&mutex_);
  if (table_.contains(extent)) return nullptr;
  auto flight = std::make_shared<Flight>();
  flight->charge = std::move(*charge);
  flight->wanted = request.version.revision;
  flight->ahead = request.purpose;
  flight->metadata = metadata;
  InsertLocked(extent, root, flight);
  jobs_.try_emplace(request.purpose.job);
  return flight;
}

Shard::Found Shard::MissLocked(const ExtentView& extent,
                               const std::shared_ptr<const std::string>& root,
                               storage::ReadRequest& request,
                               std::uint64_t memory, std::int64_t now_nanos) {
  Found found;
  if (extent.form != storage::kEncoded) {
    found.absent = true;
    return found;
  }
  if (request.given != nullptr) *request.given = storage::kEncoded;
  auto flight = std::make_shared<Flight>();
  flight->wanted = request.version.revision;
  flight->metadata.bytes = memory;
  InsertLocked(extent, root, flight);
  JoinLocked(*flight, request, now_nanos);
  found.missed = std::move(flight);
  return found;
}

Shard::Found Shard::JoinedLocked(Flight& flight, storage::ReadRequest& request,
                                 std::int64_t now_nanos) {
  Found found;
  // Bytes of another revision may lie otherwise, and an error may concern that
  // revision alone.
  if (flight.wanted != request.version.revision) {
    found.absent = flight.extent->form != storage::kEncoded;
    found.apart = !found.absent;
    return found;
  }
  JoinLocked(flight, request, now_nanos);
  found.joined = flight.ticket;
  return found;
}

void Shard::JoinLocked(Flight& flight, storage::ReadRequest& request,
                       std::int64_t now_nanos) {
  Touch(&flight.metadata, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) flight.metadata.sample = request.sample;
  flight.metadata.is_ahead = false;
  jobs_.try_emplace(request.purpose.job);
  flight.waiters.push_back(
      {request.purpose, std::move(request.done), request.given, request.seen});
}

storage::ReadPurpose Shard::Depart(Flight& flight) {
  base::MutexLock lock(&mutex_);
  if (flight.waiters.empty()) {
    flight.lead = kNobody;
    return *flight.ahead;
  }
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
  confirmed = std::move(flight.confirms);
  if (ok) {
    CountLocked(flight, confirmed != nullptr && kept == confirmed);
    if (kept == nullptr) bypassed_.Add(flight.extent->length);
  } else {
    ++failures_;
  }
  std::vector<Flight::Waiter> waiters =
      std::exchange(flight.waiters, std::vector<Flight::Waiter>());
  if (kept == nullptr) {
    // What is read below is encoded, whatever was to be confirmed.
    for (Flight::Waiter& waiter : waiters) {
      if (waiter.given != nullptr) *waiter.given = storage::kEncoded;
    }
  }
  Entry& entry = known->second;
  landed = std::move(entry.flight);
  if (kept == nullptr) {
    table_.erase(known);
    return waiters;
  }
  flight.metadata.used_at_nanos = now_nanos;
  flight.metadata.uses += static_cast<std::uint32_t>(waiters.size());
  HoldLocked(entry, flight.extent, flight.metadata, std::move(kept));
  return waiters;
}

void Shard::HoldLocked(Entry& entry, const Extent* extent,
                       const EntryMetadata& metadata,
                       std::shared_ptr<const Held> held) {
  entry.handle = candidates_.Add(metadata);
  if (entry.handle >= extents_.size()) extents_.resize(entry.handle + 1);
  extents_[entry.handle] = extent;
  entry_bytes_ += metadata.bytes;
  if (extent->form != storage::kEncoded) decoded_.Add(metadata.bytes);
  entry.held = std::move(held);
}

void Shard::Keep(const ExtentView& extent,
                 const std::shared_ptr<const std::string>& root,
                 const EntryMetadata& metadata,
                 std::shared_ptr<const Held> held) {
  base::MutexLock lock(&mutex_);
  if (table_.contains(extent)) return;
  const auto inserted = table_.emplace(Owned(extent, root), Entry());
  ++decoded_.made;
  HoldLocked(inserted.first->second, &inserted.first->first, metadata,
             std::move(held));
}

std::optional<EntryMetadata> Shard::Drop(const ExtentView& extent) {
  std::shared_ptr<const Held> dropped;  // let go of after the lock is
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end() || known->second.held == nullptr) {
    return std::nullopt;
  }
  const EntryMetadata metadata = candidates_.At(known->second.handle);
  evicted_.Add(extent.length);
  dropped = GiveUpLocked(known->second);
  table_.erase(known);
  return metadata;
}

void Shard::Cover(const ExtentView& extent,
                  const std::shared_ptr<const void>& cover) {
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end() || known->second.held == nullptr) return;
  candidates_.At(known->second.handle).cover = cover;
}

Traffic& Shard::TrafficLocked(std::uint64_t job) {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? forgotten_ : known->second;
}

void Shard::CountLocked(const Flight& flight, bool confirmed) {
  const auto read_below = [&flight](Traffic& traffic) -> Tally& {
    return flight.origin == storage::Origin::kKept ? traffic.disk
                                                   : traffic.source;
  };
  if (flight.ahead.has_value()) {
    Traffic& traffic = TrafficLocked(flight.ahead->job);
    read_below(traffic).Add(flight.extent->length);
    traffic.ahead.Add(flight.extent->length);
  }
  if (confirmed && flight.extent->form != storage::kEncoded) {
    for (std::size_t i = 0; i < flight.waiters.size(); ++i) {
      decoded_.AddHit(flight.metadata.saves_nanos);
    }
  }
  for (const Flight::Waiter& waiter : flight.waiters) {
    Traffic& traffic = TrafficLocked(waiter.purpose.job);
    const bool first =
        &waiter == flight.waiters.data() && !flight.ahead.has_value();
    (confirmed ? traffic.memory
     : first   ? read_below(traffic)
               : traffic.shared)
        .Add(flight.extent->length);
  }
}

void Shard::Draw(std::size_t count, base::PhiloxStream& random,
                 std::vector<CandidateSet::Candidate>* drawn) const {
  base::MutexLock lock(&mutex_);
  candidates_.Draw(count, random, drawn);
}

std::shared_ptr<const Held> Shard::Evict(
    const CandidateSet::Candidate& candidate) {
  base::MutexLock lock(&mutex_);
  if (!candidates_.Has(candidate)) return nullptr;
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
  const std::uint64_t bytes = candidates_.At(entry.handle).bytes;
  entry_bytes_ -= bytes;
  if (extents_[entry.handle]->form != storage::kEncoded) decoded_.Remove(bytes);
  candidates_.Remove(entry.handle);
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
  snapshot->entries += candidates_.size();
  snapshot->entry_bytes += entry_bytes_;
  snapshot->decoded.Add(decoded_);
  snapshot->reads_in_flight += table_.size() - candidates_.size();
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
