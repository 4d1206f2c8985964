#ifndef FOREBAY_SERVER_STREAM_PROVISION_H_
#define FOREBAY_SERVER_STREAM_PROVISION_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/stream/recipe.h"

namespace forebay::stream {

// Batches that one member may hold before its further ones arrive as copies.
inline constexpr std::uint32_t kLeaseQuota = 2;

// The memory that a stream needs while it lives, reserved: slots for batches,
// and a window for the encoded bytes in flight, in which any sample fits. A
// value; the budget must outlive it. Never blocks. Reserve fails with
// RESOURCE_EXHAUSTED.
class Provision {
 public:
  static absl::StatusOr<Provision> Reserve(base::MemoryBudget* budget,
                                           const Recipe& recipe,
                                           std::uint64_t slot_bytes);

  std::uint32_t slots() const { return slots_; }
  // The window, which then belongs to the caller.
  base::MemoryReservation TakeReadWindow() { return std::move(read_window_); }

 private:
  Provision() = default;

  std::uint32_t slots_ = 0;
  base::MemoryReservation batches_;
  base::MemoryReservation read_window_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PROVISION_H_
