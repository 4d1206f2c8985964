// How the cache works. The extent's hash names a shard, whose table says
// whether the bytes are there (a hit), on their way (join whoever waits for
// them), or neither (a miss). A hit is given out if the root can tell at once
// that the object is what it was; else it waits for the answer of the source,
// as if it were read. Who misses makes room before the read is sent:
// candidates are drawn from the shard and, where it has too few, from those
// after it; the oracle is asked when each is wanted, without any lock; those
// that are wanted later than the newcomer go, unless they were used, or taken,
// meanwhile. Where none are, the read goes below all the same and is answered,
// but not kept.
#include "server/cache/cache.h"

#include <utility>

#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/cache/eviction.h"

namespace forebay::cache {
namespace {

// Fewer lose hits: the one of so many drawn that is wanted last stands, on
// average, behind all but one in 97 of all.
constexpr std::size_t kCandidates = 96;
// Rooms are made for one newcomer before it is given up: others may take them.
constexpr int kAttempts = 4;
// What an entry takes besides its bytes and its object's name.
constexpr std::uint64_t kEntryBytes = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<Cache>> Cache::Create(
    const Options& options, const Surroundings& surroundings) {
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation capacity,
                           surroundings.budget->Reserve(
                               options.capacity, "the cache (cache.memory)"));
  return std::unique_ptr<Cache>(
      new Cache(options, surroundings, std::move(capacity)));
}

Cache::Cache(const Options& options, const Surroundings& surroundings,
             base::MemoryReservation capacity)
    : around_(surroundings),
      seed_(options.seed),
      ledger_(std::make_shared<Ledger>(std::move(capacity))),
      shards_(kShards) {}

Cache::~Cache() {
  base::MutexLock lock(&mutex_);
  while (flights_ > 0) all_landed_.Wait(&mutex_);
}

std::uint64_t Cache::MemoryFor(const storage::ReadRequest& request) {
  return storage::HeldBytes(request.length) + request.object.size() +
         kEntryBytes;
}

void Cache::Read(absl::Span<storage::ReadRequest> requests) {
  const std::int64_t now = around_.clock->NowNanos();
  std::vector<Miss> misses;
  std::vector<storage::ReadRequest> below;
  for (storage::ReadRequest& taken : requests) {
    storage::ReadRequest request = std::move(taken);
    if (request.root == nullptr || request.root->identity() == nullptr) {
      request.ticket = ++last_ticket_;  // unlike those of our own reads
      below.push_back(std::move(request));
    } else {
      LookUp(request, now, &misses);
    }
  }
  if (!misses.empty() || !below.empty()) {
    SendBelow(std::move(misses), std::move(below), now);
  }
}

void Cache::LookUp(storage::ReadRequest& request, std::int64_t now_nanos,
                   std::vector<Miss>* misses) {
  const std::shared_ptr<const std::string> root = request.root->identity();
  const ExtentView extent = ViewOf(*root, request);
  const std::size_t shard = extent.hash % kShards;
  const Holding holding = {.sample = request.sample,
                           .bytes = MemoryFor(request),
                           .used_at_nanos = now_nanos,
                           .wanted_at_nanos = INT64_MAX};
  Shard::Found found =
      shards_[shard].Look(extent, root, request, holding.bytes, now_nanos);
  if (found.hit != nullptr &&
      !request.root->StillHas(request.object, request.version)) {
    found =
        shards_[shard].Doubt(extent, root, request, holding.bytes, now_nanos);
  }
  if (found.hit != nullptr) {
    const absl::Span<const std::uint8_t> span = found.hit->bytes.span();
    request.done(base::Bytes(std::move(found.hit), span));
  } else if (found.missed != nullptr) {
    misses->push_back(
        {shard, std::move(found.missed), std::move(request), holding});
  } else if (found.joined != 0) {
    around_.below->Share(found.joined, request.purpose);
  }
}

void Cache::SendBelow(std::vector<Miss> misses,
                      std::vector<storage::ReadRequest> below,
                      std::int64_t now_nanos) {
  for (Miss& miss : misses) {
    Flight& flight = *miss.flight;
    storage::ReadRequest& request = miss.request;
    if (flight.confirms != nullptr) {
      request.offset = 0;
      request.length = 0;
    } else if (auto charge = MakeRoom(miss.shard, miss.holding, now_nanos)) {
      flight.charge = *std::move(charge);
    }
    CountFlight();
    miss.ticket = request.ticket = ++last_ticket_;
    request.purpose = shards_[miss.shard].Depart(flight);
    request.done = [this, shard = miss.shard,
                    flight = miss.flight](absl::StatusOr<base::Bytes> bytes) {
      Land(shard, flight, std::move(bytes));
    };
    below.push_back(std::move(request));
  }
  around_.below->Read(absl::MakeSpan(below));
  // Who came before the reads were there to be shared.
  for (const Miss& miss : misses) {
    for (const storage::ReadPurpose& purpose :
         shards_[miss.shard].Follow(*miss.flight, miss.ticket)) {
      around_.below->Share(miss.ticket, purpose);
    }
  }
}

void Cache::Land(std::size_t shard, const std::shared_ptr<Flight>& flight,
                 absl::StatusOr<base::Bytes> bytes) {
  std::shared_ptr<const Held> kept;
  if (bytes.ok() && flight->confirms != nullptr) {
    kept = flight->confirms;
  } else if (bytes.ok() && flight->charge.bytes() > 0) {
    kept = std::make_shared<const Held>(
        Held{std::move(flight->charge), *std::move(bytes)});
  }
  if (kept != nullptr) bytes = base::Bytes(kept, kept->bytes.span());
  flight->charge.Release();
  std::vector<Flight::Waiter> waiters = shards_[shard].Land(
      *flight, std::move(kept), bytes.ok(), around_.clock->NowNanos());
  for (Flight::Waiter& waiter : waiters) {
    std::exchange(waiter.done, nullptr)(bytes);
  }
  FlightDone();
}

std::optional<Charge> Cache::MakeRoom(std::size_t home, const Holding& newcomer,
                                      std::int64_t now_nanos) {
  if (newcomer.bytes > ledger_->capacity()) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
    if (!Evict(home, newcomer, now_nanos)) return std::nullopt;
  }
  return ledger_->Take(newcomer.bytes);
}

bool Cache::Evict(std::size_t home, const Holding& newcomer,
                  std::int64_t now_nanos) {
  base::PhiloxStream random(seed_, ++draws_, /*sample=*/home, /*op=*/0);
  std::vector<Roster::Candidate> candidates;
  candidates.reserve(kCandidates);
  std::vector<std::size_t> shard_of;
  shard_of.reserve(kCandidates);
  for (std::size_t i = 0; i < kShards && candidates.size() < kCandidates; ++i) {
    const std::size_t shard = (home + i) % kShards;
    shards_[shard].Draw(kCandidates - candidates.size(), random, &candidates);
    shard_of.resize(candidates.size(), shard);
  }
  std::uint64_t made = 0;
  std::vector<std::shared_ptr<const Held>>
      evicted;  // freed by no lock's holder
  for (const std::size_t i :
       WhoMakesRoom(newcomer, candidates, *around_.next_use, now_nanos)) {
    auto held = shards_[shard_of[i]].Evict(candidates[i]);
    if (held == nullptr) continue;
    made += candidates[i].holding.bytes;
    evicted.push_back(std::move(held));
    if (made >= newcomer.bytes) break;
  }
  return !evicted.empty();
}

void Cache::CountFlight() {
  base::MutexLock lock(&mutex_);
  ++flights_;
}

void Cache::FlightDone() {
  base::MutexLock lock(&mutex_);
  if (--flights_ == 0) all_landed_.NotifyAll();
}

void Cache::SetWeight(std::uint64_t job, double weight) {
  around_.below->SetWeight(job, weight);
}

void Cache::SetCap(std::uint64_t job, double bytes_per_second) {
  around_.below->SetCap(job, bytes_per_second);
}

void Cache::Forget(std::uint64_t job) {
  for (Shard& shard : shards_) shard.Forget(job);
  around_.below->Forget(job);
}

cache::Snapshot Cache::Snapshot() const {
  cache::Snapshot snapshot;
  snapshot.capacity = ledger_->capacity();
  snapshot.used = ledger_->used();
  for (const Shard& shard : shards_) shard.AddTo(&snapshot);
  return snapshot;
}

}  // namespace forebay::cache
