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
// The part of all memory that is there for more than that.
constexpr std::uint64_t kPart = 16;

// Names the largest sample, which needs so much memory.
absl::Status NameLargest(const absl::Status& status,
                         const dataset::Dataset& dataset) {
  std::uint64_t id = 0;
  while (dataset.At(id).length != dataset.largest_sample()) ++id;
  return base::Annotate(status,
                        absl::StrCat("sample ", id, " of ", dataset.uri(), ": ",
                                     dataset.At(id).object));
}

// Bytes of samples of that size for each worker, and of one that is read
// meanwhile; no more than a part of all memory.
std::uint64_t ForAllWorkers(const base::MemoryBudget& budget,
                            std::uint64_t sample, int workers) {
  const std::uint64_t most = budget.limit() / kPart;
  const std::uint64_t samples = static_cast<std::uint64_t>(workers) + 1;
  return sample > most / samples ? most : sample * samples;
}

}  // namespace

std::uint32_t SlotsFor(std::uint32_t depth) {
  return (depth == 0 ? kDefaultDepth : depth) + kLeaseQuota;
}

absl::StatusOr<base::MemoryReservation> ReserveReadWindow(
    base::MemoryBudget* budget, const dataset::Dataset& dataset, int workers) {
  const std::uint64_t largest = storage::HeldBytes(dataset.largest_sample());
  const std::uint64_t least = std::max(kReadWindow, largest);
  const std::uint64_t wanted =
      std::max(least, ForAllWorkers(*budget, largest, workers));
  auto window = budget->Reserve(wanted, "reads in flight");
  if (!window.ok() && wanted > least)
    window = budget->Reserve(least, "reads in flight");
  if (window.ok() || largest <= kReadWindow) return window;
  return NameLargest(window.status(), dataset);
}

}  // namespace forebay::stream
