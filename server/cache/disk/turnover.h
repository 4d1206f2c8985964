#ifndef FOREBAY_SERVER_CACHE_DISK_TURNOVER_H_
#define FOREBAY_SERVER_CACHE_DISK_TURNOVER_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/cache/disk/index.h"
#include "server/cache/next_use.h"
#include "server/storage/byte_source.h"

// Which segment of a full tier makes way, and for what. Segments go as a whole,
// so what counts is what most of one is worth: it goes for records that are
// wanted in less than half the time of three quarters of its own. As long as
// loaders are there that want all that is kept, those are few: a tier that is
// smaller than a dataset mostly keeps the part that it has, which no other
// choice would beat for one loader, and which does not wear the disk.
// (Simulated with room for half of a dataset, six epochs: one loader hits .49
// and writes 1.6 times what is kept, where the bound of all is .50; without the
// half, 3.7 times. Two loaders hit .54 either way, and .49 where nothing ever
// makes way.)
//
// Pure functions of their arguments and of what `next_use` says.

namespace forebay::cache::disk {

struct Departure {
  Index::SegmentId segment = 0;
  std::uint64_t serial = 0;
  // Makes way for what is wanted sooner than in so many nanoseconds.
  std::int64_t bar_nanos = 0;
};

// Who of them goes first: whose bar is the furthest, and of two that nobody
// wants, who was used least recently. What nobody can tell of, as after a
// restart, is taken to be wanted as long from now as its segment has lain
// unused. Nullopt: there are none.
std::optional<Departure> WhoLeaves(absl::Span<const Index::Drawn> drawn,
                                   const NextUse& next_use,
                                   std::int64_t now_nanos);

// Until what was just read is wanted again. What nobody can tell of is taken
// for wanted when its reader said, and where that did not say, in ten minutes:
// it displaces what has been of no use for twice as long.
std::int64_t TimeToNextUse(const storage::SampleRef& sample,
                           std::int64_t told_nanos, const NextUse& next_use,
                           std::int64_t now_nanos);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_TURNOVER_H_
