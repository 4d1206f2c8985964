#ifndef FOREBAY_SERVER_CACHE_EVICTION_H_
#define FOREBAY_SERVER_CACHE_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/candidate_set.h"
#include "server/cache/next_use.h"

namespace forebay::cache {

// The time that a request takes on top of the time for its bytes, expressed as
// the bytes that a typical source could read meanwhile. A cached entry saves
// this time, too.
inline constexpr double kRequestBytes = 128 << 10;

// Returns the cost of keeping an entry until its next use. The entries with the
// lowest costs stay.
//
//   cost = time until the next use * bytes of memory / bytes saved
//
// An entry of bytes as read saves a read: its bytes and kRequestBytes. A
// variant saves the CPU time of making it, counted as the bytes that could be
// read in that time. The bytes that the variant was made of are an entry with a
// cost of its own. Among entries of equal size, the entry wanted last is
// evicted first; among entries wanted at the same time, the largest is.
//
// An entry that a cached variant covers is not needed: its cost is infinite.
//
// `next_use_nanos` is the answer of NextUse. If that is kUnknown, the reader's
// hint counts. Without a hint, or once the hint's time is past, the time until
// the next use counts as equal to the time for which the entry has been unused.
// Among such entries, the least recently used is evicted first, before any
// entry that is wanted soon.
double EvictionCost(const EntryMetadata& metadata, std::int64_t next_use_nanos,
                    std::int64_t now_nanos);

// Returns EvictionCost with the answer of `next_use` for the entry's sample.
double EvictionCostOf(const EntryMetadata& metadata, const NextUse& next_use,
                      std::int64_t now_nanos);

// A candidate for eviction with its cost.
struct ScoredCandidate {
  double cost = 0;
  std::int64_t next_use_nanos = 0;  // the answer of NextUse
  std::size_t candidate = 0;        // index among the candidates drawn
};

// Returns all `candidates` in the order in which to evict them: the highest
// cost first, and among equal costs the least recently used. A candidate whose
// cost is not above that of the new entry should stay, and the new entry should
// then not be cached. The result depends on the arguments and the answers of
// `next_use` alone.
std::vector<ScoredCandidate> EvictionOrder(
    absl::Span<const CandidateSet::Candidate> candidates,
    const NextUse& next_use, std::int64_t now_nanos);

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTION_H_
