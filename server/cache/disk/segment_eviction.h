#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/disk/index.h"
#include "server/cache/next_use.h"
#include "server/storage/byte_source.h"

// The policy of a full tier: which segment is evicted, for which records, and
// which of its records are written again. Segments are evicted as a whole, so
// the use of most of one counts. It is evicted for a record that is wanted in
// less than half the time until two fifths of its own are. While loaders want
// all that is stored, few records qualify. So a tier that is smaller than a
// dataset mostly keeps the part that it has. For one loader that is optimal,
// and it saves the disk. Samples of the segment that are wanted sooner still
// are carried over into the segment that replaces it. Otherwise several loaders
// would lose records that one of them wants soon, because each segment has some
// of these. Simulated over six epochs, in 64 segments, with space for a quarter
// of a dataset: two loaders hit .39 and write each record 1.5 times. They hit
// .33 without carrying over, and .25 without eviction. One loader hits .25,
// which is the bound, and writes 0.4 times the stored records in each epoch.
//
// Pure functions of their arguments and the answers of `next_use`.

namespace forebay::cache::disk {

struct SegmentVictim {
  Index::SegmentId segment = 0;
  // Evicted for records that are wanted sooner than in so many nanoseconds.
  std::int64_t threshold_nanos = 0;
};

// Returns the segment with the largest threshold; of two that are never wanted,
// the least recently used. Samples of unknown next use, as after a restart,
// count as wanted as long from now as their segment has been unused. Returns
// nullopt if `drawn` is empty.
std::optional<SegmentVictim> ChooseVictim(
    absl::Span<const Index::DrawnSegment> drawn, const NextUse& next_use,
    std::int64_t now_nanos);

// Returns which samples of an evicted segment are worth writing again: those
// known to be wanted in less than three fifths of its threshold.
std::vector<bool> SamplesToCarryOver(
    std::int64_t threshold_nanos, absl::Span<const storage::SampleRef> samples,
    const NextUse& next_use, std::int64_t now_nanos);

// Returns the time until bytes that were just read are wanted again. If NextUse
// does not know, the reader's hint counts, and without a hint ten minutes. Such
// bytes displace what was of no use for twice as long.
std::int64_t TimeToNextUse(const storage::SampleRef& sample,
                           std::int64_t hint_nanos, const NextUse& next_use,
                           std::int64_t now_nanos);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_
