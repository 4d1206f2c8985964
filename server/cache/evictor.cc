#include "server/cache/evictor.h"

#include <algorithm>
#include <limits>

#include "server/base/philox.h"

namespace forebay::cache {
namespace {

// How many entries are drawn at a time. If fewer were drawn, more hits would be
// lost. If n entries are drawn at random, the one that is wanted last is on
// average among the last 1/(n + 1) of all entries: here 1/97.
constexpr std::size_t kCandidates = 96;
// How many evictions one draw serves. A draw and its NextUse query are most of
// the cost of a miss, so the next misses of the same Read take the next
// candidates of the draw. The fourth candidate is on average still among the
// last 4/97 of all entries.
constexpr std::size_t kEvictionsOfADraw = 4;
// How often the evictor tries to charge the memory of a new entry: other
// threads may take the memory that it has freed.
constexpr int kAttempts = 4;
// How many entries are drawn if variants must be evicted for a variant. Only
// the variants among these entries are candidates, so more are drawn.
constexpr std::size_t kDrawnForVariants = 4 * kCandidates;
// An offer whose cost is above all costs of the last draw is rejected without a
// draw. One in kUnseenOffers such offers is tried all the same, because the
// entries of the last draw may be gone.
constexpr std::uint64_t kUnseenOffers = 16;

}  // namespace

std::optional<Charge> Evictor::MakeSpace(const EntryMetadata& newcomer,
                                         std::int64_t now_nanos, Draw* draw,
                                         Horizon horizon) {
  if (newcomer.bytes > ledger_->capacity()) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
    if (!Evict(newcomer, now_nanos, draw, horizon)) return std::nullopt;
  }
  return ledger_->Take(newcomer.bytes);
}

std::optional<Evictor::VariantCharges> Evictor::MakeSpaceForOffer(
    const EntryMetadata& newcomer, std::int64_t now_nanos) {
  if (newcomer.bytes > variants_->capacity()) return std::nullopt;
  const double own_cost = EvictionCostOf(newcomer, *next_use_, now_nanos);
  if (own_cost == std::numeric_limits<double>::infinity()) return std::nullopt;
  auto variant_charge = variants_->Take(newcomer.bytes);
  std::optional<VariantVictims> victims;
  if (!variant_charge.has_value()) {
    victims = VariantsToEvict(newcomer.bytes, own_cost, now_nanos);
    if (!victims.has_value()) return std::nullopt;
  }
  std::optional<Charge> charge;
  // Evicting variants also frees memory of all entries. If that is enough for
  // the new variant, no other entries are evicted.
  if (!victims.has_value() || victims->bytes < newcomer.bytes) {
    charge = MakeSpaceAmongAll(newcomer, own_cost, now_nanos);
    if (!charge.has_value()) return std::nullopt;
  }
  if (victims.has_value()) {
    Evict(*victims);
    variant_charge = variants_->Take(newcomer.bytes);
    if (!charge.has_value()) charge = ledger_->Take(newcomer.bytes);
  }
  if (!charge.has_value() || !variant_charge.has_value()) return std::nullopt;
  return VariantCharges{*std::move(charge), *std::move(variant_charge)};
}

std::optional<Evictor::VariantVictims> Evictor::VariantsToEvict(
    std::uint64_t bytes, double own_cost, std::int64_t now_nanos) {
  Draw all = DrawUnordered(kDrawnForVariants);
  VariantVictims victims;
  Draw& draw = victims.draw;
  for (std::size_t i = 0; i < all.candidates_.size(); ++i) {
    if (all.candidates_[i].metadata.saves_nanos <= 0) continue;
    draw.candidates_.push_back(all.candidates_[i]);
    draw.stripes_.push_back(all.stripes_[i]);
  }
  draw.order_ = EvictionOrder(draw.candidates_, *next_use_, now_nanos);
  const std::uint64_t used = std::min(variants_->used(), variants_->capacity());
  const std::uint64_t free = variants_->capacity() - used;
  for (const ScoredCandidate& scored : draw.order_) {
    if (victims.bytes + free >= bytes || scored.cost <= own_cost) break;
    victims.bytes += draw.candidates_[scored.candidate].metadata.bytes;
    ++victims.count;
  }
  if (victims.bytes + free < bytes) return std::nullopt;
  return victims;
}

void Evictor::Evict(const VariantVictims& victims) {
  // The bytes are freed without any lock, when `evicted` goes out of scope.
  std::vector<std::shared_ptr<const CachedBytes>> evicted;
  for (std::size_t i = 0; i < victims.count; ++i) {
    EvictCandidate(victims.draw, victims.draw.order_[i], &evicted);
  }
}

std::optional<Charge> Evictor::MakeSpaceAmongAll(const EntryMetadata& newcomer,
                                                 double own_cost,
                                                 std::int64_t now_nanos) {
  if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
  if (own_cost >= highest_cost_.load(std::memory_order_relaxed) &&
      ++offers_ % kUnseenOffers != 0) {
    return std::nullopt;
  }
  Draw draw = DrawCandidates(now_nanos);
  std::uint64_t victims = 0;
  for (const ScoredCandidate& scored : draw.order_) {
    if (scored.cost <= own_cost) break;
    victims += draw.candidates_[scored.candidate].metadata.bytes;
  }
  if (victims < newcomer.bytes) return std::nullopt;
  if (!Evict(newcomer, now_nanos, &draw, /*horizon=*/-1)) return std::nullopt;
  return ledger_->Take(newcomer.bytes);
}

bool Evictor::Evict(const EntryMetadata& newcomer, std::int64_t now_nanos,
                    Draw* draw, Horizon horizon) {
  // The draw is renewed after kEvictionsOfADraw evictions, or when it is used
  // up. The draw is also renewed if the newcomer is wanted later than the
  // remaining candidates.
  if (draw->next_ >= kEvictionsOfADraw) *draw = {};
  const double own_cost = EvictionCostOf(newcomer, *next_use_, now_nanos);
  if (draw->next_ == draw->order_.size() ||
      (draw->next_ > 0 && draw->order_[draw->next_].cost <= own_cost)) {
    *draw = DrawCandidates(now_nanos);
  }
  std::uint64_t freed_bytes = 0;
  // The bytes are freed without any lock, when `evicted` goes out of scope.
  std::vector<std::shared_ptr<const CachedBytes>> evicted;
  while (freed_bytes < newcomer.bytes && draw->next_ < draw->order_.size()) {
    const ScoredCandidate& scored = draw->order_[draw->next_];
    if (scored.cost <= own_cost) break;
    ++draw->next_;
    const CandidateSet::Candidate& candidate =
        draw->candidates_[scored.candidate];
    const bool is_due =
        scored.next_use_nanos != kUnknown && scored.next_use_nanos <= horizon;
    if (candidate.metadata.is_ahead && is_due) continue;
    freed_bytes += EvictCandidate(*draw, scored, &evicted);
  }
  return !evicted.empty();
}

std::uint64_t Evictor::EvictCandidate(
    const Draw& draw, const ScoredCandidate& scored,
    std::vector<std::shared_ptr<const CachedBytes>>* evicted) {
  const CandidateSet::Candidate& candidate = draw.candidates_[scored.candidate];
  auto cached = (*stripes_)[draw.stripes_[scored.candidate]].Evict(candidate);
  if (cached == nullptr) return 0;
  const EntryMetadata& metadata = candidate.metadata;
  if (metadata.saves_nanos > 0) {
    reuse_->RecordEviction(metadata.sample.dataset, metadata.uses);
  }
  evicted->push_back(std::move(cached));
  return metadata.bytes;
}

Evictor::Draw Evictor::DrawUnordered(std::size_t count) {
  // Each draw begins at the next stripe. Hashes spread the entries over the
  // stripes, so the entries of one stripe represent all.
  const std::uint64_t number = ++draws_;
  base::PhiloxStream random(seed_, number, /*sample=*/0, /*op=*/0);
  Draw draw;
  draw.candidates_.reserve(count);
  for (std::size_t i = 0; i < stripes_->size(); ++i) {
    const std::size_t stripe = (number + i) % stripes_->size();
    (*stripes_)[stripe].Draw(count - draw.candidates_.size(), random,
                             &draw.candidates_);
    draw.stripes_.resize(draw.candidates_.size(), stripe);
    if (draw.candidates_.size() >= count) break;
  }
  return draw;
}

Evictor::Draw Evictor::DrawCandidates(std::int64_t now_nanos) {
  Draw draw = DrawUnordered(kCandidates);
  draw.order_ = EvictionOrder(draw.candidates_, *next_use_, now_nanos);
  if (!draw.order_.empty()) {
    highest_cost_.store(draw.order_.front().cost, std::memory_order_relaxed);
  }
  return draw;
}

}  // namespace forebay::cache
