// How the cache works. The extent's hash names a shard, whose table says
// whether the bytes are there (a hit), on their way (join whoever waits for
// them), or neither (a miss). A hit is given out if the root can tell at once
// that the object is what it was; else it waits for the answer of the source,
// as if it were read. Who misses makes room before the read is sent:
// candidates are drawn from a shard and, where it has too few, from those after
// it; the oracle is asked when each is wanted, without any lock; those
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
// To draw and to ask is most of what a miss costs, so that the next ones of the
// same Read take who stands behind: of so many, the worst is still one of the
// last in 24 of all.
constexpr std::size_t kEvictionsOfADraw = 4;
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
  Draw draw;
  for (Miss& miss : misses) {
    Flight& flight = *miss.flight;
    storage::ReadRequest& request = miss.request;
    if (flight.confirms != nullptr) {
      request.offset = 0;
      request.length = 0;
    } else if (auto charge = MakeRoom(miss.holding, now_nanos, &draw)) {
      flight.charge = *std::move(charge);
    }
    CountFlight();
    miss.ticket = request.ticket = ++last_ticket_;
    request.purpose = shards_[miss.shard].Depart(flight);
    request.origin = &flight.origin;
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
    kept =
        std::make_shared<const Held>(Held{std::move(flight->charge), *bytes});
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

std::optional<Charge> Cache::MakeRoom(const Holding& newcomer,
                                      std::int64_t now_nanos, Draw* draw) {
  if (newcomer.bytes > ledger_->capacity()) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
    if (!Evict(newcomer, now_nanos, draw)) return std::nullopt;
  }
  return ledger_->Take(newcomer.bytes);
}

bool Cache::Evict(const Holding& newcomer, std::int64_t now_nanos, Draw* draw) {
  if (draw->next >= kEvictionsOfADraw) *draw = {};
  const double own_rent = RentOf(newcomer, *around_.next_use, now_nanos);
  if (draw->next == draw->order.size() ||
      (draw->next > 0 && draw->order[draw->next].rent <= own_rent)) {
    *draw = DrawCandidates(now_nanos);
  }
  std::uint64_t made = 0;
  // Freed by no lock's holder.
  std::vector<std::shared_ptr<const Held>> evicted;
  while (made < newcomer.bytes && draw->next < draw->order.size()) {
    const Bid& bid = draw->order[draw->next];
    if (bid.rent <= own_rent) break;
    ++draw->next;
    const Roster::Candidate& candidate = draw->candidates[bid.candidate];
    auto held = shards_[draw->shards[bid.candidate]].Evict(candidate);
    if (held == nullptr) continue;
    made += candidate.holding.bytes;
    evicted.push_back(std::move(held));
  }
  return !evicted.empty();
}

Cache::Draw Cache::DrawCandidates(std::int64_t now_nanos) {
  const std::uint64_t number = ++draws_;
  base::PhiloxStream random(seed_, number, /*sample=*/0, /*op=*/0);
  Draw draw;
  draw.candidates.reserve(kCandidates);
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::size_t shard = (number + i) % kShards;
    shards_[shard].Draw(kCandidates - draw.candidates.size(), random,
                        &draw.candidates);
    draw.shards.resize(draw.candidates.size(), shard);
    if (draw.candidates.size() >= kCandidates) break;
  }
  draw.order = OrderOfLeaving(draw.candidates, *around_.next_use, now_nanos);
  return draw;
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
