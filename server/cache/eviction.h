#ifndef FOREBAY_SERVER_CACHE_EVICTION_H_
#define FOREBAY_SERVER_CACHE_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/candidate_set.h"
#include "server/cache/next_use.h"

namespace forebay::cache {

// Bytes that could be read in the time that a request takes besides.
inline constexpr double kRequestBytes = 128 << 10;

// The cost of keeping an entry (its bytes, for as long as they lie idle), over
// what that saves: the less, the better the entry is kept. An entry of read
// bytes saves a read: its bytes and a constant. An entry of another variant
// saves the CPU time of making it, counted as the bytes that could be read
// meanwhile; the bytes that it was made of are weighed by themselves. Among
// entries of one variant and size, the cost orders them by their next use.
//
// An entry that another variant covers is not needed: its cost is infinite.
//
// `next_use_nanos` is what NextUse says. Where that is unknown, the reader's
// own hint counts. Where that is past, or was not given, the entry is taken to
// be wanted as long from now as it has lain unused. So the least recently used
// is evicted first, and such an entry loses against one that is wanted soon.
double EvictionCost(const EntryMetadata& metadata, std::int64_t next_use_nanos,
                    std::int64_t now_nanos);

// The same, of an entry that `next_use` is asked about.
double EvictionCostOf(const EntryMetadata& metadata, const NextUse& next_use,
                      std::int64_t now_nanos);

// What one of several candidates for eviction costs.
struct ScoredCandidate {
  double cost = 0;
  std::int64_t next_use_nanos = 0;  // as NextUse says
  std::size_t candidate = 0;        // its place among them
};

// All of `candidates`, in the order in which to evict them: the highest cost
// first, and of those that no loader wants the least recently used. A candidate
// whose cost is not above the newcomer's should stay, and the newcomer should
// not be kept then. Pure functions of their arguments and of what `next_use`
// says.
std::vector<ScoredCandidate> OrderOfLeaving(
    absl::Span<const CandidateSet::Candidate> candidates,
    const NextUse& next_use, std::int64_t now_nanos);

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTION_H_
