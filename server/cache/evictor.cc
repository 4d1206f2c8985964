#include "server/cache/evictor.h"

#include <algorithm>
#include <limits>

#include "server/base/philox.h"

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
// Of these, the forms are candidates where forms have to make room for one.
constexpr std::size_t kDrawnForForms = 4 * kCandidates;
// An offer whose cost is above all that were drawn last is declined unseen, but
// for one in so many: those may be gone.
constexpr std::uint64_t kUnseenOffers = 16;

}  // namespace

std::optional<Charge> Evictor::MakeRoom(const EntryMetadata& newcomer,
                                        std::int64_t now_nanos, Draw* draw,
                                        Horizon horizon) {
  if (newcomer.bytes > ledger_->capacity()) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
    if (!Evict(newcomer, now_nanos, draw, horizon)) return std::nullopt;
  }
  return ledger_->Take(newcomer.bytes);
}

std::optional<Evictor::FormCharges> Evictor::MakeRoomForOffer(
    const EntryMetadata& newcomer, std::int64_t now_nanos) {
  if (newcomer.bytes > forms_->capacity()) return std::nullopt;
  const double own_cost = EvictionCostOf(newcomer, *next_use_, now_nanos);
  if (own_cost == std::numeric_limits<double>::infinity()) return std::nullopt;
  auto form_charge = forms_->Take(newcomer.bytes);
  std::optional<LeavingForms> leaving;
  if (!form_charge.has_value()) {
    leaving = FormsToLeave(newcomer.bytes, own_cost, now_nanos);
    if (!leaving.has_value()) return std::nullopt;
  }
  std::optional<Charge> charge;
  // What leaves the forms leaves room among all, too.
  if (!leaving.has_value() || leaving->bytes < newcomer.bytes) {
    charge = MakeRoomAmongAll(newcomer, own_cost, now_nanos);
    if (!charge.has_value()) return std::nullopt;
  }
  if (leaving.has_value()) {
    Evict(*leaving);
    form_charge = forms_->Take(newcomer.bytes);
    if (!charge.has_value()) charge = ledger_->Take(newcomer.bytes);
  }
  if (!charge.has_value() || !form_charge.has_value()) return std::nullopt;
  return FormCharges{*std::move(charge), *std::move(form_charge)};
}

std::optional<Evictor::LeavingForms> Evictor::FormsToLeave(
    std::uint64_t bytes, double own_cost, std::int64_t now_nanos) {
  Draw all = DrawUnordered(kDrawnForForms);
  LeavingForms leaving;
  Draw& draw = leaving.draw;
  for (std::size_t i = 0; i < all.candidates_.size(); ++i) {
    if (all.candidates_[i].metadata.saves_nanos <= 0) continue;
    draw.candidates_.push_back(all.candidates_[i]);
    draw.shards_.push_back(all.shards_[i]);
  }
  draw.order_ = OrderOfLeaving(draw.candidates_, *next_use_, now_nanos);
  const std::uint64_t used = std::min(forms_->used(), forms_->capacity());
  const std::uint64_t free = forms_->capacity() - used;
  for (const ScoredCandidate& scored : draw.order_) {
    if (leaving.bytes + free >= bytes || scored.cost <= own_cost) break;
    leaving.bytes += draw.candidates_[scored.candidate].metadata.bytes;
    ++leaving.count;
  }
  if (leaving.bytes + free < bytes) return std::nullopt;
  return leaving;
}

void Evictor::Evict(const LeavingForms& leaving) {
  // Freed by no lock's holder.
  std::vector<std::shared_ptr<const Held>> evicted;
  for (std::size_t i = 0; i < leaving.count; ++i) {
    GiveUp(leaving.draw, leaving.draw.order_[i], &evicted);
  }
}

std::optional<Charge> Evictor::MakeRoomAmongAll(const EntryMetadata& newcomer,
                                                double own_cost,
                                                std::int64_t now_nanos) {
  if (auto charge = ledger_->Take(newcomer.bytes)) return charge;
  if (own_cost >= highest_cost_.load(std::memory_order_relaxed) &&
      ++offers_ % kUnseenOffers != 0) {
    return std::nullopt;
  }
  Draw draw = DrawCandidates(now_nanos);
  std::uint64_t leaving = 0;
  for (const ScoredCandidate& scored : draw.order_) {
    if (scored.cost <= own_cost) break;
    leaving += draw.candidates_[scored.candidate].metadata.bytes;
  }
  if (leaving < newcomer.bytes) return std::nullopt;
  if (!Evict(newcomer, now_nanos, &draw, /*horizon=*/-1)) return std::nullopt;
  return ledger_->Take(newcomer.bytes);
}

bool Evictor::Evict(const EntryMetadata& newcomer, std::int64_t now_nanos,
                    Draw* draw, Horizon horizon) {
  if (draw->next_ >= kEvictionsOfADraw) *draw = {};
  const double own_cost = EvictionCostOf(newcomer, *next_use_, now_nanos);
  if (draw->next_ == draw->order_.size() ||
      (draw->next_ > 0 && draw->order_[draw->next_].cost <= own_cost)) {
    *draw = DrawCandidates(now_nanos);
  }
  std::uint64_t made = 0;
  // Freed by no lock's holder.
  std::vector<std::shared_ptr<const Held>> evicted;
  while (made < newcomer.bytes && draw->next_ < draw->order_.size()) {
    const ScoredCandidate& scored = draw->order_[draw->next_];
    if (scored.cost <= own_cost) break;
    ++draw->next_;
    const CandidateSet::Candidate& candidate =
        draw->candidates_[scored.candidate];
    const bool is_due =
        scored.next_use_nanos != kUnknown && scored.next_use_nanos <= horizon;
    if (candidate.metadata.is_ahead && is_due) continue;
    made += GiveUp(*draw, scored, &evicted);
  }
  return !evicted.empty();
}

std::uint64_t Evictor::GiveUp(
    const Draw& draw, const ScoredCandidate& scored,
    std::vector<std::shared_ptr<const Held>>* evicted) {
  const CandidateSet::Candidate& candidate = draw.candidates_[scored.candidate];
  auto held = (*shards_)[draw.shards_[scored.candidate]].Evict(candidate);
  if (held == nullptr) return 0;
  const EntryMetadata& metadata = candidate.metadata;
  if (metadata.saves_nanos > 0) {
    yield_->Left(metadata.sample.dataset, metadata.uses);
  }
  evicted->push_back(std::move(held));
  return metadata.bytes;
}

Evictor::Draw Evictor::DrawUnordered(std::size_t count) {
  const std::uint64_t number = ++draws_;
  base::PhiloxStream random(seed_, number, /*sample=*/0, /*op=*/0);
  Draw draw;
  draw.candidates_.reserve(count);
  for (std::size_t i = 0; i < shards_->size(); ++i) {
    const std::size_t shard = (number + i) % shards_->size();
    (*shards_)[shard].Draw(count - draw.candidates_.size(), random,
                           &draw.candidates_);
    draw.shards_.resize(draw.candidates_.size(), shard);
    if (draw.candidates_.size() >= count) break;
  }
  return draw;
}

Evictor::Draw Evictor::DrawCandidates(std::int64_t now_nanos) {
  Draw draw = DrawUnordered(kCandidates);
  draw.order_ = OrderOfLeaving(draw.candidates_, *next_use_, now_nanos);
  if (!draw.order_.empty()) {
    highest_cost_.store(draw.order_.front().cost, std::memory_order_relaxed);
  }
  return draw;
}

}  // namespace forebay::cache
