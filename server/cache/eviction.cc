#include "server/cache/eviction.h"

#include <algorithm>
#include <limits>

namespace forebay::cache {
double EvictionCost(const EntryMetadata& metadata, std::int64_t next_use_nanos,
                    std::int64_t now_nanos) {
  if (!metadata.cover.expired()) return std::numeric_limits<double>::infinity();
  std::int64_t nanos = next_use_nanos;
  if (nanos == kUnknown) {
    const bool is_told = metadata.wanted_at_nanos > now_nanos &&
                         metadata.wanted_at_nanos != INT64_MAX;
    nanos = is_told ? metadata.wanted_at_nanos - now_nanos
                    : now_nanos - metadata.used_at_nanos;
  }
  if (nanos == kNever) return std::numeric_limits<double>::infinity();
  const auto bytes = static_cast<double>(metadata.bytes);
  const double saved =
      metadata.saves_nanos > 0 ? metadata.saves_bytes : bytes + kRequestBytes;
  return static_cast<double>(nanos) * (bytes / saved);
}

double EvictionCostOf(const EntryMetadata& metadata, const NextUse& next_use,
                      std::int64_t now_nanos) {
  std::int64_t nanos = kUnknown;
  next_use.Ask(now_nanos, {&metadata.sample, 1}, {&nanos, 1});
  return EvictionCost(metadata, nanos, now_nanos);
}

std::vector<ScoredCandidate> EvictionOrder(
    absl::Span<const CandidateSet::Candidate> candidates,
    const NextUse& next_use, std::int64_t now_nanos) {
  std::vector<storage::SampleRef> samples;
  samples.reserve(candidates.size());
  for (const CandidateSet::Candidate& candidate : candidates) {
    samples.push_back(candidate.metadata.sample);
  }
  std::vector<std::int64_t> nanos(samples.size());
  next_use.Ask(now_nanos, samples, absl::MakeSpan(nanos));

  std::vector<ScoredCandidate> order;
  order.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    order.push_back({EvictionCost(candidates[i].metadata, nanos[i], now_nanos),
                     nanos[i], i});
  }
  std::sort(order.begin(), order.end(),
            [&](const ScoredCandidate& a, const ScoredCandidate& b) {
              if (a.cost != b.cost) return a.cost > b.cost;
              return candidates[a.candidate].metadata.used_at_nanos <
                     candidates[b.candidate].metadata.used_at_nanos;
            });
  return order;
}

}  // namespace forebay::cache
