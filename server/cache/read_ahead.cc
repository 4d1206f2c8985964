#include "server/cache/read_ahead.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "server/cache/candidate_set.h"
#include "server/cache/extent.h"

namespace forebay::cache {
namespace {

// How many triggers are skipped once a neighbour got no memory. The number is
// so large that failed attempts cost little, and so small that free memory is
// soon noticed.
constexpr int kSkipped = 32;

// Returns the time in nanoseconds within which the reader wants all of its own
// neighbours; -1 if unknown. Neighbours that only other readers want are read
// if they are wanted within this time.
//
// The pace of a neighbour is the time until its use over its distance in the
// reader's order. Some paces mislead: another loader may want the neighbour
// sooner, or the neighbour was just requested. Therefore the median of all
// paces is multiplied by the farthest distance.
Evictor::Horizon HorizonOf(
    const std::vector<storage::ReadAheadHint>& neighbours,
    const std::vector<std::int64_t>& nanos) {
  std::vector<double> paces;
  std::uint64_t farthest = 0;
  for (std::size_t i = 0; i < nanos.size(); ++i) {
    const std::uint64_t distance = neighbours[i].distance;
    if (distance == 0 || nanos[i] == kNever || nanos[i] == kUnknown) continue;
    farthest = std::max(farthest, distance);
    paces.push_back(static_cast<double>(nanos[i]) /
                    static_cast<double>(distance));
  }
  if (paces.empty()) return -1;
  const auto middle =
      paces.begin() + static_cast<std::ptrdiff_t>(paces.size() / 2);
  std::nth_element(paces.begin(), middle, paces.end());
  // A factor of two allows for the paces of ranks, which differ a little.
  const double horizon = 2 * *middle * static_cast<double>(farthest);
  constexpr std::int64_t kMaxHorizon = INT64_MAX / 4;
  return horizon < static_cast<double>(kMaxHorizon)
             ? static_cast<std::int64_t>(horizon)
             : kMaxHorizon;
}

}  // namespace

void ReadAhead::Begin(const std::vector<Trigger>& triggers,
                      std::int64_t now_nanos, std::vector<Miss>* misses) {
  // Samples with the same NumberOf are one neighbourhood. Triggers come in the
  // order in which their samples are wanted. Only the first missed trigger of a
  // neighbourhood begins reads, since it has the neighbours of later ones, too.
  std::set<std::pair<const storage::ReadAheadHints*, std::uint64_t>> begun;
  Evictor::Draw draw;
  for (const Trigger& trigger : triggers) {
    if (skips_left_ > 0) {
      --skips_left_;
      continue;
    }
    const storage::ReadAheadHints& all = *trigger.read_ahead_hints;
    bool has_space = true;
    if (trigger.is_missed &&
        begun.emplace(&all, all.NumberOf(trigger.sample)).second) {
      has_space = BeginAll(trigger, all.NeighboursOf(trigger.sample), now_nanos,
                           &draw, misses);
    }
    if (has_space && trigger.is_due) {
      has_space = BeginAll(trigger, all.DueBy(trigger.sample), now_nanos, &draw,
                           misses);
    }
    if (!has_space) {
      skips_left_ = kSkipped;
      return;
    }
  }
}

bool ReadAhead::BeginAll(const Trigger& trigger, Neighbours neighbours,
                         std::int64_t now_nanos, Evictor::Draw* draw,
                         std::vector<Miss>* misses) {
  std::vector<std::int64_t> nanos;
  const Evictor::Horizon horizon =
      FilterByNextUse(&neighbours, now_nanos, &nanos);
  const std::shared_ptr<const std::string> root = trigger.root->identity();
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    storage::ReadRequest request;
    request.root = trigger.root;
    request.object = std::move(neighbours[i].object);
    request.version = neighbours[i].version;
    request.layout = std::move(neighbours[i].layout);
    request.offset = neighbours[i].offset;
    request.length = neighbours[i].length;
    request.sample = neighbours[i].sample;
    request.purpose.job = trigger.job;
    request.purpose.payers = trigger.payers;
    // The urgency of the read is the time until the neighbour is wanted, if
    // known.
    request.purpose.urgency =
        static_cast<std::uint64_t>(nanos[i] < 0 ? INT64_MAX : nanos[i]);
    request.purpose.next_use_nanos = nanos[i] < 0 ? INT64_MAX : nanos[i];
    const ExtentView extent = ViewOf(*root, request);
    Stripe& stripe = (*stripes_)[extent.hash % stripes_->size()];
    if (stripe.Contains(extent)) continue;
    EntryMetadata metadata = {.sample = request.sample,
                              .bytes = MemoryFor(request)};
    Touch(&metadata, now_nanos, request.purpose.next_use_nanos);
    metadata.is_ahead = true;
    auto charge = evictor_->MakeSpace(metadata, now_nanos, draw, horizon);
    if (!charge.has_value()) return false;
    auto in_flight =
        stripe.BeginAhead(extent, root, request, metadata, &*charge);
    if (in_flight == nullptr)
      continue;  // another thread has begun it meanwhile
    misses->push_back({extent.hash % stripes_->size(), std::move(in_flight),
                       std::move(request), metadata});
  }
  return true;
}

Evictor::Horizon ReadAhead::FilterByNextUse(
    Neighbours* neighbours, std::int64_t now_nanos,
    std::vector<std::int64_t>* nanos) const {
  std::vector<storage::SampleRef> samples;
  samples.reserve(neighbours->size());
  for (const storage::ReadAheadHint& each : *neighbours) {
    samples.push_back(each.sample);
  }
  nanos->resize(samples.size());
  next_use_->Ask(now_nanos, samples, absl::MakeSpan(*nanos));
  const Evictor::Horizon horizon = HorizonOf(*neighbours, *nanos);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nanos->size(); ++i) {
    const bool is_own = (*neighbours)[i].distance > 0;
    const bool is_soon = (*nanos)[i] != kUnknown && (*nanos)[i] <= horizon;
    if (!is_own && !is_soon) continue;
    (*nanos)[kept] = (*nanos)[i];
    if (kept != i) (*neighbours)[kept] = std::move((*neighbours)[i]);
    ++kept;
  }
  neighbours->resize(kept);
  nanos->resize(kept);
  return horizon;
}

}  // namespace forebay::cache
