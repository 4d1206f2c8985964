#include "server/stream/slot_reservation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kDefaultDepth = 2;
// Enough to keep many workers busy with large photographs, little beside the
// slots.
constexpr std::uint64_t kReadWindow = std::uint64_t{16} << 20;

// Names the largest sample, which needs so much memory.
absl::Status NameLargest(const absl::Status& status,
                         const dataset::Dataset& dataset) {
  std::uint64_t id = 0;
  while (dataset.At(id).length != dataset.largest_sample()) ++id;
  return base::Annotate(status,
                        absl::StrCat("sample ", id, " of ", dataset.uri(), ": ",
                                     dataset.At(id).object));
}

}  // namespace

std::uint32_t SlotsFor(std::uint32_t depth) {
  return (depth == 0 ? kDefaultDepth : depth) + kLeaseQuota;
}

absl::StatusOr<base::MemoryReservation> ReserveReadWindow(
    base::MemoryBudget* budget, const dataset::Dataset& dataset) {
  const std::uint64_t largest = storage::HeldBytes(dataset.largest_sample());
  auto window =
      budget->Reserve(std::max(kReadWindow, largest), "reads in flight");
  if (window.ok() || largest <= kReadWindow) return window;
  return NameLargest(window.status(), dataset);
}

}  // namespace forebay::stream
