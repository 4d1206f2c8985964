#ifndef FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_
#define FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Batches that one member may hold before its further ones arrive as copies.
inline constexpr std::uint32_t kLeaseQuota = 2;

// The slots that a member with `depth` prefetched batches (0: the default)
// reserves, so that it can be served apart at any time.
std::uint32_t SlotsFor(std::uint32_t depth);

// The memory for a stream's encoded bytes in flight, in which any sample fits,
// and, if it is little beside all memory, one for each of the workers that
// decode. RESOURCE_EXHAUSTED: the budget has less memory left.
absl::StatusOr<base::MemoryReservation> ReserveReadWindow(
    base::MemoryBudget* budget, const dataset::Dataset& dataset, int workers);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_
