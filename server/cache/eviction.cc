#include "server/cache/eviction.h"

#include <algorithm>
#include <limits>

namespace forebay::cache {
double Rent(const Holding& holding, std::int64_t next_use_nanos,
            std::int64_t now_nanos) {
  if (!holding.cover.expired()) return std::numeric_limits<double>::infinity();
  std::int64_t nanos = next_use_nanos;
  if (nanos == kUnknown) {
    const bool is_told = holding.wanted_at_nanos > now_nanos &&
                         holding.wanted_at_nanos != INT64_MAX;
    nanos = is_told ? holding.wanted_at_nanos - now_nanos
                    : now_nanos - holding.used_at_nanos;
  }
  if (nanos == kNever) return std::numeric_limits<double>::infinity();
  const auto bytes = static_cast<double>(holding.bytes);
  const double saved =
      holding.saves_nanos > 0 ? holding.saves_bytes : bytes + kRequestBytes;
  return static_cast<double>(nanos) * (bytes / saved);
}

double RentOf(const Holding& holding, const NextUse& next_use,
              std::int64_t now_nanos) {
  std::int64_t nanos = kUnknown;
  next_use.Ask(now_nanos, {&holding.sample, 1}, {&nanos, 1});
  return Rent(holding, nanos, now_nanos);
}

std::vector<Bid> OrderOfLeaving(absl::Span<const Roster::Candidate> candidates,
                                const NextUse& next_use,
                                std::int64_t now_nanos) {
  std::vector<storage::SampleRef> samples;
  samples.reserve(candidates.size());
  for (const Roster::Candidate& candidate : candidates) {
    samples.push_back(candidate.holding.sample);
  }
  std::vector<std::int64_t> nanos(samples.size());
  next_use.Ask(now_nanos, samples, absl::MakeSpan(nanos));

  std::vector<Bid> bids;
  bids.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    bids.push_back(
        {Rent(candidates[i].holding, nanos[i], now_nanos), nanos[i], i});
  }
  std::sort(bids.begin(), bids.end(), [&](const Bid& a, const Bid& b) {
    if (a.rent != b.rent) return a.rent > b.rent;
    return candidates[a.candidate].holding.used_at_nanos <
           candidates[b.candidate].holding.used_at_nanos;
  });
  return bids;
}

}  // namespace forebay::cache
