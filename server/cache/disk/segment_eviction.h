#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/disk/index.h"
#include "server/cache/next_use.h"
#include "server/storage/byte_source.h"

// Which segment of a full tier makes way, for what, and what of it is written
// once more. Segments go as a whole, so what counts is what most of one is
// worth: it goes for records that are wanted in less than half the time of
// three fifths of its own. As long as loaders are there that want all that is
// kept, those are few: a tier that is smaller than a dataset mostly keeps the
// part that it has, which no other choice would beat for one loader, and which
// does not wear the disk. What of the segment is wanted sooner still goes along
// into the one that takes its place: else several loaders, of which each makes
// some records of all segments wanted soon, would lose these with the others.
// (Simulated over six epochs, in 64 segments: with room for a quarter of a
// dataset, two loaders hit .39 and write each record 1.5 times; .33 where
// nothing goes along, .25 where nothing makes way. One loader hits .25, which
// is the bound, and writes 0.4 times what is kept in each epoch.)
//
// Pure functions of their arguments and of what `next_use` says.

namespace forebay::cache::disk {

struct SegmentVictim {
  Index::SegmentId segment = 0;
  std::uint64_t serial = 0;
  // Makes way for what is wanted sooner than in so many nanoseconds.
  std::int64_t bar_nanos = 0;
};

// Who of them goes first: whose bar is the furthest, and of two that nobody
// wants, who was used least recently. What nobody can tell of, as after a
// restart, is taken to be wanted as long from now as its segment has lain
// unused. Nullopt: there are none.
std::optional<SegmentVictim> ChooseVictim(absl::Span<const Index::Drawn> drawn,
                                          const NextUse& next_use,
                                          std::int64_t now_nanos);

// Which of the samples of a segment that makes way are worth being written once
// more: what is wanted, as somebody can tell, in less than three fifths of its
// bar.
std::vector<bool> SamplesToKeep(std::int64_t bar_nanos,
                                absl::Span<const storage::SampleRef> samples,
                                const NextUse& next_use,
                                std::int64_t now_nanos);

// Until what was just read is wanted again. What nobody can tell of is taken
// for wanted when its reader said, and where that did not say, in ten minutes:
// it displaces what has been of no use for twice as long.
std::int64_t TimeToNextUse(const storage::SampleRef& sample,
                           std::int64_t told_nanos, const NextUse& next_use,
                           std::int64_t now_nanos);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_
