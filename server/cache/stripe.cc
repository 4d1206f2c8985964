#include "server/cache/stripe.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {
namespace {

// The value of `lead` in a read that had no waiters when it was sent. This
// value equals no index, so Share is later called for all waiters.
constexpr std::size_t kNoWaiter = SIZE_MAX;

// Returns an Extent that owns copies of the view's parts.
Extent Owned(const ExtentView& extent,
             const std::shared_ptr<const std::string>& root) {
  return {.root = root,
          .object = std::string(extent.object),
          .version = extent.version,
          .offset = extent.offset,
          .length = extent.length,
          .variant = extent.variant,
          .hash = extent.hash};
}

}  // namespace

Stripe::LookUpResult Stripe::LookUp(
    const ExtentView& extent, const std::shared_ptr<const std::string>& root,
    storage::ReadRequest& request, std::uint64_t memory,
    std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  Entry& entry = known->second;
  if (entry.cached == nullptr) {
    return JoinedLocked(*entry.in_flight, request, now_nanos);
  }
  LookUpResult result;
  EntryMetadata& metadata = candidates_.At(entry.handle);
  Touch(&metadata, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) metadata.sample = request.sample;
  metadata.is_ahead = false;
  metadata.cover.reset();
  ++metadata.uses;
  jobs_[request.purpose.job].memory.Add(extent.length);
  if (extent.variant != storage::kEncoded)
    decoded_.AddHit(metadata.saves_nanos);
  result.hit = entry.cached;
  result.saves_nanos = metadata.saves_nanos;
  return result;
}

Stripe::LookUpResult Stripe::CheckStaleness(
    const ExtentView& extent, const std::shared_ptr<const std::string>& root,
    storage::ReadRequest& request, std::uint64_t memory, std::int64_t now_nanos,
    std::int64_t saves_nanos) {
  base::MutexLock lock(&mutex_);
  // LookUp counted the request as a hit. The request may turn out to be a miss.
  TrafficLocked(request.purpose.job).memory.Remove(extent.length);
  if (extent.variant != storage::kEncoded) decoded_.RemoveHit(saves_nanos);
  const auto known = table_.find(extent);
  if (known == table_.end()) {
    return MissLocked(extent, root, request, memory, now_nanos);
  }
  Entry& entry = known->second;
  if (entry.cached == nullptr) {
    return JoinedLocked(*entry.in_flight, request, now_nanos);
  }
  // The entry may have been read anew since LookUp. The new bytes are checked
  // too, because the object may have changed again.
  auto in_flight = std::make_shared<InFlightRead>();
  in_flight->extent = &known->first;
  in_flight->wanted = request.version.revision;
  in_flight->metadata = candidates_.At(entry.handle);
  in_flight->confirms = RemoveCachedLocked(entry);
  entry.in_flight = in_flight;
  JoinLocked(*in_flight, request, now_nanos);
  LookUpResult instead;
  instead.missed = std::move(in_flight);
  return instead;
}

void Stripe::InsertLocked(const ExtentView& extent,
                          const std::shared_ptr<const std::string>& root,
                          const std::shared_ptr<InFlightRead>& in_flight) {
  Entry entry;
  entry.in_flight = in_flight;
  const auto inserted = table_.emplace(Owned(extent, root), std::move(entry));
  in_flight->extent = &inserted.first->first;
}

bool Stripe::Contains(const ExtentView& extent) const {
  base::MutexLock lock(&mutex_);
  return table_.contains(extent);
}

std::shared_ptr<InFlightRead> Stripe::BeginAhead(
    const ExtentView& extent, const std::shared_ptr<const std::string>& root,
    const storage::ReadRequest& request, const EntryMetadata& metadata,
    Charge* charge) {
  base::MutexLock lock(&mutex_);
  if (table_.contains(extent)) return nullptr;
  auto in_flight = std::make_shared<InFlightRead>();
  in_flight->charge = std::move(*charge);
  in_flight->wanted = request.version.revision;
  in_flight->ahead = request.purpose;
  in_flight->metadata = metadata;
  InsertLocked(extent, root, in_flight);
  jobs_.try_emplace(request.purpose.job);
  return in_flight;
}

Stripe::LookUpResult Stripe::MissLocked(
    const ExtentView& extent, const std::shared_ptr<const std::string>& root,
    storage::ReadRequest& request, std::uint64_t memory,
    std::int64_t now_nanos) {
  LookUpResult result;
  if (extent.variant != storage::kEncoded) {
    result.absent = true;
    return result;
  }
  auto in_flight = std::make_shared<InFlightRead>();
  in_flight->wanted = request.version.revision;
  in_flight->metadata.bytes = memory;
  InsertLocked(extent, root, in_flight);
  JoinLocked(*in_flight, request, now_nanos);
  result.missed = std::move(in_flight);
  return result;
}

Stripe::LookUpResult Stripe::JoinedLocked(InFlightRead& in_flight,
                                          storage::ReadRequest& request,
                                          std::int64_t now_nanos) {
  LookUpResult result;
  // A read for another revision does not answer the request: its bytes may have
  // another layout, and its error may concern that revision alone.
  if (in_flight.wanted != request.version.revision) {
    result.absent = in_flight.extent->variant != storage::kEncoded;
    result.read_alone = !result.absent;
    return result;
  }
  JoinLocked(in_flight, request, now_nanos);
  result.joined = in_flight.ticket;
  return result;
}

void Stripe::JoinLocked(InFlightRead& in_flight, storage::ReadRequest& request,
                        std::int64_t now_nanos) {
  Touch(&in_flight.metadata, now_nanos, request.purpose.next_use_nanos);
  if (request.sample.dataset != 0) in_flight.metadata.sample = request.sample;
  in_flight.metadata.is_ahead = false;
  jobs_.try_emplace(request.purpose.job);
  in_flight.waiters.push_back({request.purpose, std::move(request.done)});
}

storage::ReadPurpose Stripe::BeginSending(InFlightRead& in_flight) {
  base::MutexLock lock(&mutex_);
  if (in_flight.waiters.empty()) {
    in_flight.lead = kNoWaiter;
    return *in_flight.ahead;
  }
  const auto most_urgent =
      std::min_element(in_flight.waiters.begin(), in_flight.waiters.end(),
                       [](const auto& a, const auto& b) {
                         return a.purpose.urgency < b.purpose.urgency;
                       });
  in_flight.lead = most_urgent - in_flight.waiters.begin();
  return most_urgent->purpose;
}

std::vector<storage::ReadPurpose> Stripe::NoteSent(InFlightRead& in_flight,
                                                   std::uint64_t ticket) {
  std::vector<storage::ReadPurpose> others;
  base::MutexLock lock(&mutex_);
  in_flight.ticket = ticket;
  for (std::size_t i = 0; i < in_flight.waiters.size(); ++i) {
    if (i != in_flight.lead) others.push_back(in_flight.waiters[i].purpose);
  }
  return others;
}

std::vector<InFlightRead::Waiter> Stripe::Complete(
    InFlightRead& in_flight, std::shared_ptr<const CachedBytes> to_cache,
    bool ok, std::int64_t now_nanos) {
  // `completed` and `confirmed` are declared before the lock, so that what they
  // own is freed after the lock is released.
  std::shared_ptr<InFlightRead> completed;
  std::shared_ptr<const CachedBytes> confirmed;
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(*in_flight.extent);
  FOREBAY_CHECK(known != table_.end());
  confirmed = std::move(in_flight.confirms);
  if (ok) {
    CountLocked(in_flight, confirmed != nullptr && to_cache == confirmed);
    if (to_cache == nullptr) bypassed_.Add(in_flight.extent->length);
  } else {
    ++failures_;
  }
  std::vector<InFlightRead::Waiter> waiters =
      std::exchange(in_flight.waiters, std::vector<InFlightRead::Waiter>());
  Entry& entry = known->second;
  completed = std::move(entry.in_flight);
  if (to_cache == nullptr) {
    table_.erase(known);
    return waiters;
  }
  in_flight.metadata.used_at_nanos = now_nanos;
  in_flight.metadata.uses += static_cast<std::uint32_t>(waiters.size());
  CacheLocked(entry, in_flight.extent, in_flight.metadata, std::move(to_cache));
  return waiters;
}

void Stripe::CacheLocked(Entry& entry, const Extent* extent,
                         const EntryMetadata& metadata,
                         std::shared_ptr<const CachedBytes> cached) {
  entry.handle = candidates_.Add(metadata);
  if (entry.handle >= extents_.size()) extents_.resize(entry.handle + 1);
  extents_[entry.handle] = extent;
  entry_bytes_ += metadata.bytes;
  if (extent->variant != storage::kEncoded) decoded_.Add(metadata.bytes);
  entry.cached = std::move(cached);
}

void Stripe::Insert(const ExtentView& extent,
                    const std::shared_ptr<const std::string>& root,
                    const EntryMetadata& metadata,
                    std::shared_ptr<const CachedBytes> cached) {
  base::MutexLock lock(&mutex_);
  if (table_.contains(extent)) return;
  const auto inserted = table_.emplace(Owned(extent, root), Entry());
  ++decoded_.made;
  CacheLocked(inserted.first->second, &inserted.first->first, metadata,
              std::move(cached));
}

std::optional<EntryMetadata> Stripe::Drop(const ExtentView& extent) {
  std::shared_ptr<const CachedBytes> dropped;  // freed after the lock
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end() || known->second.cached == nullptr) {
    return std::nullopt;
  }
  const EntryMetadata metadata = candidates_.At(known->second.handle);
  evicted_.Add(extent.length);
  dropped = RemoveCachedLocked(known->second);
  table_.erase(known);
  return metadata;
}

void Stripe::Cover(const ExtentView& extent,
                   const std::shared_ptr<const void>& cover) {
  base::MutexLock lock(&mutex_);
  const auto known = table_.find(extent);
  if (known == table_.end() || known->second.cached == nullptr) return;
  candidates_.At(known->second.handle).cover = cover;
}

Traffic& Stripe::TrafficLocked(std::uint64_t job) {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? forgotten_ : known->second;
}

void Stripe::CountLocked(const InFlightRead& in_flight, bool confirmed) {
  const auto read_below = [&in_flight](Traffic& traffic) -> Tally& {
    return in_flight.origin == storage::Origin::kCached ? traffic.disk
                                                        : traffic.source;
  };
  if (in_flight.ahead.has_value()) {
    Traffic& traffic = TrafficLocked(in_flight.ahead->job);
    read_below(traffic).Add(in_flight.extent->length);
    traffic.ahead.Add(in_flight.extent->length);
  }
  if (confirmed && in_flight.extent->variant != storage::kEncoded) {
    for (std::size_t i = 0; i < in_flight.waiters.size(); ++i) {
      decoded_.AddHit(in_flight.metadata.saves_nanos);
    }
  }
  for (const InFlightRead::Waiter& waiter : in_flight.waiters) {
    Traffic& traffic = TrafficLocked(waiter.purpose.job);
    const bool first =
        &waiter == in_flight.waiters.data() && !in_flight.ahead.has_value();
    (confirmed ? traffic.memory
     : first   ? read_below(traffic)
               : traffic.shared)
        .Add(in_flight.extent->length);
  }
}

void Stripe::Draw(std::size_t count, base::PhiloxStream& random,
                  std::vector<CandidateSet::Candidate>* drawn) const {
  base::MutexLock lock(&mutex_);
  candidates_.Draw(count, random, drawn);
}

std::shared_ptr<const CachedBytes> Stripe::Evict(
    const CandidateSet::Candidate& candidate) {
  base::MutexLock lock(&mutex_);
  if (!candidates_.Has(candidate)) return nullptr;
  const auto known = table_.find(*extents_[candidate.handle]);
  FOREBAY_CHECK(known != table_.end());
  // A count of one is the table's own reference. No other thread can add a
  // reference while the lock is held.
  if (known->second.cached.use_count() != 1) return nullptr;
  evicted_.Add(known->first.length);
  std::shared_ptr<const CachedBytes> cached = RemoveCachedLocked(known->second);
  table_.erase(known);
  return cached;
}

std::shared_ptr<const CachedBytes> Stripe::RemoveCachedLocked(Entry& entry) {
  const std::uint64_t bytes = candidates_.At(entry.handle).bytes;
  entry_bytes_ -= bytes;
  if (extents_[entry.handle]->variant != storage::kEncoded)
    decoded_.Remove(bytes);
  candidates_.Remove(entry.handle);
  extents_[entry.handle] = nullptr;
  return std::exchange(entry.cached, nullptr);
}

void Stripe::Forget(std::uint64_t job) {
  base::MutexLock lock(&mutex_);
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) return;
  forgotten_.Add(known->second);
  jobs_.erase(known);
}

void Stripe::AddTo(CacheSnapshot* snapshot) const {
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
