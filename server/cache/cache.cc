// How a read goes through the cache.
//
// 1. The extent's hash selects a stripe. The stripe's table says whether the
//    bytes are cached (a hit), in flight (the request joins the read) or
//    neither (a miss). Bytes in flight for another revision do not answer the
//    request. In that case the request's bytes are read for it alone, and are
//    not cached.
// 2. A hit is given out if the root can tell at once that the object is
//    unchanged. If the root cannot tell, the source is asked to send the bytes
//    only if the object no longer has the cached revision.
// 3. A miss makes space before its read is sent. The evictor draws candidates
//    from a stripe, and from the stripes after it if that stripe has too few
//    entries. Candidates whose cost of keeping is above the newcomer's are
//    evicted. If that frees too little, the bytes are read and given out, but
//    not cached.
// 4. Neighbours that are wanted soon, not cached and not in flight are read
//    with the miss, as far as there is memory.
//
// Bytes of which a variant is cached are evicted first, unless a reader has
// wanted the bytes themselves since. A stripe's lock is held for table
// operations only: roots, sources, NextUse and callbacks are called without it.
#include "server/cache/cache.h"

#include <algorithm>
#include <utility>

#include "server/base/status.h"
#include "server/cache/extent.h"
#include "server/storage/new_ticket.h"

namespace forebay::cache {
namespace {

// How many requests are looked up before the hits among them are answered.
// These lookups share two readings of the CPU clock, a system call each. Fewer
// requests would make each lookup cost more; more would let the first hit wait
// longer.
constexpr std::size_t kRunReads = 16;

// Returns whether the cached bytes, if current, answer the request. If their
// revision is not the one in the reader's index, they may have another layout.
bool Suits(const storage::ReadRequest& request, const CachedBytes& cached) {
  const storage::Revision& wanted = request.version.revision;
  return wanted == storage::Revision() || wanted == cached.revision;
}

// Returns what the read-ahead needs to know of a request. The caller may move
// from the request afterwards.
ReadAhead::Trigger TriggerOf(const storage::ReadRequest& request,
                             bool is_missed) {
  return {.root = request.root,
          .read_ahead_hints = request.read_ahead_hints,
          .sample = request.sample.sample,
          .job = request.purpose.job,
          .payers = request.purpose.payers,
          .is_missed = is_missed,
          .is_due = request.neighbours_due};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cache>> Cache::Create(const Options& options,
                                                     const Deps& deps) {
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation capacity,
      deps.budget->Reserve(options.capacity, "the cache (cache.memory)"));
  return std::unique_ptr<Cache>(new Cache(options, deps, std::move(capacity)));
}

Cache::Cache(const Options& options, const Deps& deps,
             base::MemoryReservation capacity)
    : deps_(deps),
      cpus_(options.cpus),
      ledger_(std::make_shared<MemoryLedger>(std::move(capacity))),
      variants_(std::make_shared<MemoryLedger>(
          std::min(options.variant_capacity, options.capacity))),
      stripes_(kStripes),
      evictor_(&stripes_, ledger_, variants_, deps.next_use, &reuse_,
               options.seed),
      read_ahead_(&stripes_, &evictor_, deps.next_use) {}

Cache::~Cache() {
  base::MutexLock lock(&mutex_);
  while (reads_in_flight_ > 0) all_reads_done_.Wait(&mutex_);
}

void Cache::Read(absl::Span<storage::ReadRequest> requests) {
  const std::int64_t now = deps_.clock->NowNanos();
  LookupResults results;
  results.hits.reserve(std::min(kRunReads, requests.size()));
  for (std::size_t i = 0; i < requests.size(); i += kRunReads)
    LookUpRun(requests.subspan(i, kRunReads), now, &results);
  if (!results.misses.empty()) MakeSpaceForAll(now, &results.misses);
  if (!results.triggers.empty()) {
    read_ahead_.Begin(results.triggers, now, &results.misses);
  }
  if (!results.misses.empty() || !results.below.empty()) {
    SendBelow(std::move(results.misses), std::move(results.below));
  }
}

Cache::Hit Cache::HitOf(storage::ReadRequest& request, storage::Variant variant,
                        std::shared_ptr<const CachedBytes> cached) {
  const absl::Span<const std::uint8_t> span = cached->bytes.span();
  const storage::Revision revision = cached->revision;
  return {std::move(request.done),
          {.bytes = base::Bytes(std::move(cached), span),
           .variant = variant,
           .origin = storage::Origin::kCached,
           .revision = revision}};
}

void Cache::LookUpRun(absl::Span<storage::ReadRequest> requests,
                      std::int64_t now_nanos, LookupResults* results) {
  const std::int64_t cpu_begun = deps_.cpu_clock->NowNanos();
  for (storage::ReadRequest& taken : requests) {
    storage::ReadRequest request = std::move(taken);
    if (request.root == nullptr || request.uncached ||
        request.root->identity() == nullptr) {
      results->below.push_back(std::move(request));
    } else {
      LookUp(request, now_nanos, results);
    }
  }
  // Callbacks run after the clock was read, because their time belongs to the
  // readers.
  cpu_nanos_ += deps_.cpu_clock->NowNanos() - cpu_begun;
  for (Hit& hit : results->hits) hit.done(std::move(hit.result));
  results->hits.clear();
}

bool Cache::LookUpVariant(storage::ReadRequest& request, std::int64_t now_nanos,
                          LookupResults* results) {
  const std::shared_ptr<const std::string> root = request.root->identity();
  const ExtentView extent = ViewOf(*root, request, request.variant);
  const std::size_t stripe = extent.hash % kStripes;
  Stripe::LookUpResult result =
      stripes_[stripe].LookUp(extent, root, request, /*memory=*/0, now_nanos);
  if (result.hit != nullptr &&
      (!Suits(request, *result.hit) ||
       !results->look.IsCurrent(request, result.hit->revision))) {
    result = stripes_[stripe].CheckStaleness(
        extent, root, request, /*memory=*/0, now_nanos, result.saves_nanos);
  }
  if (result.absent) return false;
  if (request.read_ahead_hints != nullptr && request.neighbours_due) {
    results->triggers.push_back(TriggerOf(request, /*is_missed=*/false));
  }
  if (result.hit != nullptr) {
    results->hits.push_back(
        HitOf(request, request.variant, std::move(result.hit)));
  } else if (result.missed != nullptr) {
    results->misses.push_back({stripe, std::move(result.missed),
                               std::move(request),
                               EntryMetadata{.sample = {}}});
  } else if (result.joined != 0) {
    deps_.below->Share(result.joined, request.purpose);
  }
  return true;
}

void Cache::LookUp(storage::ReadRequest& request, std::int64_t now_nanos,
                   LookupResults* results) {
  if (request.variant != storage::kEncoded &&
      LookUpVariant(request, now_nanos, results)) {
    return;
  }
  const std::shared_ptr<const std::string> root = request.root->identity();
  const ExtentView extent = ViewOf(*root, request);
  const std::size_t stripe = extent.hash % kStripes;
  const EntryMetadata metadata = {.sample = request.sample,
                                  .bytes = MemoryFor(request),
                                  .used_at_nanos = now_nanos,
                                  .wanted_at_nanos = INT64_MAX};
  Stripe::LookUpResult result =
      stripes_[stripe].LookUp(extent, root, request, metadata.bytes, now_nanos);
  if (result.hit != nullptr &&
      (!Suits(request, *result.hit) ||
       !results->look.IsCurrent(request, result.hit->revision))) {
    result = stripes_[stripe].CheckStaleness(extent, root, request,
                                             metadata.bytes, now_nanos,
                                             /*saves_nanos=*/0);
  }
  if (request.read_ahead_hints != nullptr) {
    const bool is_missed =
        result.missed != nullptr && result.missed->confirms == nullptr;
    if (is_missed || request.neighbours_due) {
      results->triggers.push_back(TriggerOf(request, is_missed));
    }
  }
  if (result.hit != nullptr) {
    results->hits.push_back(
        HitOf(request, storage::kEncoded, std::move(result.hit)));
  } else if (result.missed != nullptr) {
    results->misses.push_back(
        {stripe, std::move(result.missed), std::move(request), metadata});
  } else if (result.read_alone) {
    results->below.push_back(std::move(request));
  } else if (result.joined != 0) {
    deps_.below->Share(result.joined, request.purpose);
  }
}

// A check of cached bytes needs no space: the bytes that it confirms have kept
// their charge. A miss that gets no charge is read without being cached.
void Cache::MakeSpaceForAll(std::int64_t now_nanos, std::vector<Miss>* misses) {
  Evictor::Draw draw;
  for (Miss& miss : *misses) {
    if (miss.in_flight->confirms != nullptr) {
      miss.request.unless = miss.in_flight->confirms->revision;
    } else if (auto charge =
                   evictor_.MakeSpace(miss.metadata, now_nanos, &draw)) {
      miss.in_flight->charge = *std::move(charge);
    }
  }
}

void Cache::SendBelow(std::vector<Miss> misses,
                      std::vector<storage::ReadRequest> below) {
  for (Miss& miss : misses) {
    storage::ReadRequest& request = miss.request;
    BeginRead();
    if (miss.in_flight->confirms == nullptr) {
      read_cost_.Begin(deps_.clock->NowNanos());
    }
    if (request.ticket == 0) request.ticket = storage::NewTicket();
    miss.ticket = request.ticket;
    request.purpose = stripes_[miss.stripe].BeginSending(*miss.in_flight);
    request.read_ahead_hints = nullptr;
    request.variant = storage::kEncoded;
    request.done = [this, stripe = miss.stripe, in_flight = miss.in_flight](
                       absl::StatusOr<storage::ReadResult> result) {
      Complete(stripe, in_flight, std::move(result));
    };
    below.push_back(std::move(request));
  }
  deps_.below->Read(absl::MakeSpan(below));
  // Requests may have joined a read before it was sent. The source below did
  // not know the read's ticket then, so Share is called now.
  for (const Miss& miss : misses) {
    for (const storage::ReadPurpose& purpose :
         stripes_[miss.stripe].NoteSent(*miss.in_flight, miss.ticket)) {
      deps_.below->Share(miss.ticket, purpose);
    }
  }
}

void Cache::Complete(std::size_t stripe,
                     const std::shared_ptr<InFlightRead>& in_flight,
                     absl::StatusOr<storage::ReadResult> result) {
  if (in_flight->confirms == nullptr) {
    read_cost_.End(deps_.clock->NowNanos(),
                   result.ok() ? result->bytes.size() : 0);
  }
  std::shared_ptr<const CachedBytes> kept;
  if (result.ok()) in_flight->origin = result->origin;
  // A check that gives no bytes has confirmed the cached bytes. If it gives
  // bytes, they are of a new revision. They are passed on without being cached,
  // because nobody has made space for them.
  if (result.ok() && in_flight->confirms != nullptr) {
    if (result->bytes.size() < in_flight->extent->length) {
      kept = in_flight->confirms;
      result->origin = storage::Origin::kCached;
    }
  } else if (result.ok() && in_flight->charge.bytes() > 0) {
    kept = std::make_shared<const CachedBytes>(
        CachedBytes{.charge = std::move(in_flight->charge),
                    .variant_charge = {},
                    .cover = {},
                    .revision = result->revision,
                    .bytes = result->bytes});
  }
  if (kept != nullptr) {
    result->bytes = base::Bytes(kept, kept->bytes.span());
    result->variant = in_flight->extent->variant;
  }
  in_flight->charge.Release();
  std::vector<InFlightRead::Waiter> waiters = stripes_[stripe].Complete(
      *in_flight, std::move(kept), result.ok(), deps_.clock->NowNanos());
  for (InFlightRead::Waiter& waiter : waiters)
    std::exchange(waiter.done, nullptr)(result);
  EndRead();
}

class Cache::ChargedBuffer final : public VariantBuffer {
 public:
  ChargedBuffer(const Offer& offer, const EntryMetadata& metadata,
                Evictor::VariantCharges cost)
      : read_(*offer.read),
        variant_(offer.variant),
        revision_(offer.revision),
        metadata_(metadata),
        cost_(std::move(cost)),
        memory_(std::make_shared_for_overwrite<std::uint8_t[]>(offer.bytes)),
        bytes_(offer.bytes) {}

  absl::Span<std::uint8_t> span() override { return {memory_.get(), bytes_}; }

  const storage::ReadRequest& read() const { return read_; }
  storage::Variant variant() const { return variant_; }
  const EntryMetadata& metadata() const { return metadata_; }
  std::shared_ptr<const CachedBytes> Take() {
    return std::make_shared<const CachedBytes>(
        CachedBytes{.charge = std::move(cost_.charge),
                    .variant_charge = std::move(cost_.variant_charge),
                    .cover = std::make_shared<const char>(),
                    .revision = revision_,
                    .bytes = base::Bytes(memory_, {memory_.get(), bytes_})});
  }

 private:
  const storage::ReadRequest read_;
  const storage::Variant variant_;
  const storage::Revision revision_;
  const EntryMetadata metadata_;
  Evictor::VariantCharges cost_;
  const std::shared_ptr<std::uint8_t[]> memory_;
  const std::uint64_t bytes_;
};

std::unique_ptr<VariantBuffer> Cache::Reserve(const Offer& offer) {
  const storage::ReadRequest& read = *offer.read;
  const std::shared_ptr<const std::string> root = read.root->identity();
  if (root == nullptr || offer.saves_nanos <= 0) return nullptr;
  const ExtentView extent = ViewOf(*root, read, offer.variant);
  if (stripes_[extent.hash % kStripes].Contains(extent)) return nullptr;
  if (!offer.is_awaited &&
      !reuse_.IsWorthMaking(read.sample.dataset, offer.costs_nanos,
                            offer.saves_nanos)) {
    return nullptr;
  }
  const std::int64_t now = deps_.clock->NowNanos();
  const EntryMetadata metadata = {
      .sample = read.sample,
      .bytes = MemoryFor(read, offer.bytes),
      .saves_nanos = offer.saves_nanos,
      .saves_bytes = static_cast<double>(offer.saves_nanos) / cpus_ /
                     read_cost_.NanosPerByte(),
      .used_at_nanos = now};
  auto cost = evictor_.MakeSpaceForOffer(metadata, now);
  if (!cost.has_value()) return nullptr;
  return std::make_unique<ChargedBuffer>(offer, metadata, *std::move(cost));
}

void Cache::Insert(std::unique_ptr<VariantBuffer> buffer) {
  auto& own = static_cast<ChargedBuffer&>(*buffer);
  const std::shared_ptr<const std::string> root = own.read().root->identity();
  const ExtentView extent = ViewOf(*root, own.read(), own.variant());
  // If the variant is cached already, `cached` frees the new one after Insert
  // has released the stripe's lock.
  std::shared_ptr<const CachedBytes> cached = own.Take();
  stripes_[extent.hash % kStripes].Insert(extent, root, own.metadata(), cached);
  const ExtentView read = ViewOf(*root, own.read());
  stripes_[read.hash % kStripes].Cover(read, cached->cover);
}

void Cache::Drop(const storage::ReadRequest& read, storage::Variant variant) {
  const std::shared_ptr<const std::string> root = read.root->identity();
  if (root == nullptr) return;
  const ExtentView extent = ViewOf(*root, read, variant);
  const auto dropped = stripes_[extent.hash % kStripes].Drop(extent);
  if (dropped.has_value()) {
    reuse_.RecordEviction(dropped->sample.dataset, dropped->uses);
  }
}

void Cache::BeginRead() {
  base::MutexLock lock(&mutex_);
  ++reads_in_flight_;
}

void Cache::EndRead() {
  base::MutexLock lock(&mutex_);
  if (--reads_in_flight_ == 0) all_reads_done_.NotifyAll();
}

void Cache::Forget(schedule::Flow job) {
  for (Stripe& stripe : stripes_) stripe.Forget(job);
}

cache::CacheSnapshot Cache::Snapshot() const {
  cache::CacheSnapshot snapshot;
  snapshot.capacity = ledger_->capacity();
  snapshot.used = ledger_->used();
  for (const Stripe& stripe : stripes_) stripe.AddTo(&snapshot);
  return snapshot;
}

}  // namespace forebay::cache
