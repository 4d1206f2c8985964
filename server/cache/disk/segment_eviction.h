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
// which of its records are written again.
//
// Segments are evicted as a whole, so the policy considers many of a segment's
// samples together. The threshold of a segment is half the time until two
// fifths of its samples have been wanted. A segment is evicted for a new record
// that is wanted sooner than this threshold. While loaders want all that is
// stored, few new records qualify. A tier that is smaller than a dataset then
// mostly keeps the part that it has. This is optimal for one loader, and saves
// writes to the disk.
//
// Samples of the segment that are wanted within three fifths of the threshold
// are carried over into the segment that replaces it. Otherwise, with several
// loaders, records that one of them wants soon would be lost, because each
// segment has some of these records.
//
// A simulation of six epochs, with 64 segments and space for a quarter of a
// dataset, gave these results. With two loaders, the share of hits is .39, and
// each record is written 1.5 times. The share is .33 without carrying over, and
// .25 without eviction. With one loader the share is .25, which is the bound,
// and each epoch writes 0.4 times the stored records.
//
// The functions depend on their arguments and the answers of `next_use` alone.
// They are thread-safe, do not block, and have no errors.

namespace forebay::cache::disk {

// The segment to evict next.
struct SegmentVictim {
  Index::SegmentId segment = 0;
  // The threshold: the segment is evicted for records that are wanted in less
  // than this time.
  std::int64_t threshold_nanos = 0;
};

// Returns the segment with the largest threshold; of several with the same
// threshold, the least recently used. After a restart, the next use of a sample
// may be unknown. The time until its next use then counts as equal to the time
// for which its segment has been unused. Returns nullopt if `drawn` is empty.
std::optional<SegmentVictim> ChooseVictim(
    absl::Span<const Index::DrawnSegment> drawn, const NextUse& next_use,
    std::int64_t now_nanos);

// Returns for each of `samples`, which an evicted segment had, whether to write
// it again. A sample is written again if NextUse knows that it is wanted in
// less than three fifths of `threshold_nanos`.
std::vector<bool> SamplesToCarryOver(
    std::int64_t threshold_nanos, absl::Span<const storage::SampleRef> samples,
    const NextUse& next_use, std::int64_t now_nanos);

// Returns the time in nanoseconds until bytes that were just read are wanted
// again. If NextUse does not know, returns the reader's hint, or ten minutes if
// there is no hint (INT64_MAX). Bytes without a hint therefore displace
// segments that were unused for twenty minutes.
std::int64_t TimeToNextUse(const storage::SampleRef& sample,
                           std::int64_t hint_nanos, const NextUse& next_use,
                           std::int64_t now_nanos);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_EVICTION_H_
