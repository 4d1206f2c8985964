#ifndef FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_
#define FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The number of batches that one member may hold before further ones arrive as
// copies.
inline constexpr std::uint32_t kLeaseQuota = 2;

// Returns the number of slots that a member reserves if `depth` batches are
// prepared ahead for it; 0 means the default. The slots suffice for a member
// that shares no batch with others.
std::uint32_t SlotsFor(std::uint32_t depth);

// Reserves the least memory for a stream's encoded bytes in flight: at least 16
// MiB, and enough for the largest sample. If the budget allows, there is room
// for one such sample for each of `places` threads and one more, up to a
// sixteenth of all memory. RESOURCE_EXHAUSTED: the budget has no room for the
// least memory.
absl::StatusOr<base::MemoryReservation> ReserveReadWindow(
    base::MemoryBudget* budget, const dataset::Dataset& dataset, int places);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_RESERVATION_H_
