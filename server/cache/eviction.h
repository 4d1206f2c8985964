#ifndef FOREBAY_SERVER_CACHE_EVICTION_H_
#define FOREBAY_SERVER_CACHE_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/next_use.h"
#include "server/cache/roster.h"

namespace forebay::cache {

// Bytes that could be read in the time that a request takes besides.
inline constexpr double kRequestBytes = 128 << 10;

// What keeping a holding costs (its bytes, for as long as they lie idle) over
// what it saves: the less, the better it is kept. What was read saves a read:
// its bytes and a constant. Another form of it saves the CPU time of making it
// (what was read is there besides, or is weighed against others by itself),
// which counts as the bytes that could be read meanwhile. Among holdings of one
// form and size the rent gives the order of their next use.
//
// What is covered by another form is done without: its rent is infinite.
//
// `next_use_nanos` is what NextUse says. Of what nobody can tell: when its
// reader said that it wants it again, and where that is past or was not said,
// as long from now as it has lain unused. So the least recently used goes
// first, and a stale holding loses against one that is known to be wanted soon.
double Rent(const Holding& holding, std::int64_t next_use_nanos,
            std::int64_t now_nanos);

// The same, of a holding that `next_use` is asked about.
double RentOf(const Holding& holding, const NextUse& next_use,
              std::int64_t now_nanos);

// What one of several candidates for eviction costs.
struct Bid {
  double rent = 0;
  std::int64_t next_use_nanos = 0;  // as NextUse says
  std::size_t candidate = 0;        // its place among them
};

// All of `candidates`, in the order in which they should make room: the highest
// rent goes first, and of those that nobody wants the least recently used. Who
// is not above the newcomer's own rent should stay: then it is the newcomer
// that should not be kept. Pure functions of their arguments and of what
// `next_use` says.
std::vector<Bid> OrderOfLeaving(absl::Span<const Roster::Candidate> candidates,
                                const NextUse& next_use,
                                std::int64_t now_nanos);

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_EVICTION_H_
