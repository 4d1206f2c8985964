#ifndef FOREBAY_SERVER_CACHE_EVICTION_H_
#define FOREBAY_SERVER_CACHE_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/candidate_set.h"
#include "server/cache/next_use.h"

namespace forebay::cache {

// The bytes that could be read in the fixed time of a request.
inline constexpr double kRequestBytes = 128 << 10;

// The cost of keeping an entry: its bytes times its idle time, over what it
// saves. Entries with a lower cost stay. An entry of read bytes saves a read:
// its bytes and a constant. A variant saves the CPU time of making it, counted
// as the bytes that could be read meanwhile. The bytes that it was made of have
// a cost of their own. Among entries of one variant and size, the cost orders
// them by their next use.
//
// An entry that a cached variant covers is not needed: its cost is infinite.
//
// `next_use_nanos` is the answer of NextUse. If that is kUnknown, the reader's
// hint counts. Without a hint, or once its time is past, the entry counts as
// wanted as long from now as it has been unused. So the least recently used is
// evicted first, and before any entry that is wanted soon.
double EvictionCost(const EntryMetadata& metadata, std::int64_t next_use_nanos,
                    std::int64_t now_nanos);

// Like EvictionCost, with the answer of `next_use`.
double EvictionCostOf(const EntryMetadata& metadata, const NextUse& next_use,
                      std::int64_t now_nanos);

// A candidate for eviction with its cost.
struct ScoredCandidate {
  double cost = 0;
  std::int64_t next_use_nanos = 0;  // the answer of NextUse
  std::size_t candidate = 0;        // its index
};

// Returns all `candidates` in the order in which to evict them: the highest
// cost first, then the least recently used. A candidate should stay if its cost
// is not above the newcomer's; then the newcomer should not be cached. A pure
// function of its arguments and the answers of `next_use`.
std::vector<ScoredCandidate> EvictionOrder(
    absl::Span<const CandidateSet::Candidate> candidates,
    const NextUse& next_use, std::int64_t now_nanos);

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTION_H_
