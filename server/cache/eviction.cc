#include "server/cache/eviction.h"

#include <algorithm>
#include <limits>

namespace forebay::cache {
namespace {

// Bytes that could be read in the time that a request takes besides.
constexpr double kRequestBytes = 128 << 10;

struct Bid {
  double rent = 0;
  std::int64_t used_at_nanos = 0;
  std::size_t candidate = 0;

  bool GoesBefore(const Bid& other) const {
    if (rent != other.rent) return rent > other.rent;
    return used_at_nanos < other.used_at_nanos;
  }
};

}  // namespace

double Rent(const Holding& holding, std::int64_t next_use_nanos,
            std::int64_t now_nanos) {
  std::int64_t nanos = next_use_nanos;
  if (nanos == kUnknown) {
    const bool is_told = holding.wanted_at_nanos > now_nanos &&
                         holding.wanted_at_nanos != INT64_MAX;
    nanos = is_told ? holding.wanted_at_nanos - now_nanos
                    : now_nanos - holding.used_at_nanos;
  }
  if (nanos == kNever) return std::numeric_limits<double>::infinity();
  const auto bytes = static_cast<double>(holding.bytes);
  return static_cast<double>(nanos) * (bytes / (bytes + kRequestBytes));
}

std::vector<std::size_t> WhoMakesRoom(
    const Holding& newcomer, absl::Span<const Roster::Candidate> candidates,
    const NextUse& next_use, std::int64_t now_nanos) {
  std::vector<storage::SampleRef> samples;
  samples.reserve(candidates.size() + 1);
  for (const Roster::Candidate& candidate : candidates) {
    samples.push_back(candidate.holding.sample);
  }
  samples.push_back(newcomer.sample);
  std::vector<std::int64_t> nanos(samples.size());
  next_use.Ask(now_nanos, samples, absl::MakeSpan(nanos));

  const double own_rent = Rent(newcomer, nanos.back(), now_nanos);
  std::vector<Bid> bids;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Holding& holding = candidates[i].holding;
    const double rent = Rent(holding, nanos[i], now_nanos);
    if (rent > own_rent) bids.push_back({rent, holding.used_at_nanos, i});
  }
  std::sort(bids.begin(), bids.end(),
            [](const Bid& a, const Bid& b) { return a.GoesBefore(b); });
  std::vector<std::size_t> leaving;
  leaving.reserve(bids.size());
  for (const Bid& bid : bids) leaving.push_back(bid.candidate);
  return leaving;
}

}  // namespace forebay::cache
