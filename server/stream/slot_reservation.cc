#include "server/stream/slot_reservation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

// The number of batches that are prepared ahead by default.
constexpr std::uint32_t kDefaultDepth = 2;
// The least read window: 16 MiB keep many threads busy with large photographs,
// and are little beside the slots.
constexpr std::uint64_t kReadWindow = std::uint64_t{16} << 20;
// A window above kReadWindow takes at most 1 / kPart of all memory, unless the
// largest sample needs more.
constexpr std::uint64_t kPart = 16;

// Adds the name of the largest sample to an error, since that sample needs so
// much memory.
absl::Status NameLargest(const absl::Status& status,
                         const dataset::Dataset& dataset) {
  std::uint64_t id = 0;
  while (dataset.At(id).length != dataset.largest_sample()) ++id;
  return base::Annotate(status,
                        absl::StrCat("sample ", id, " of ", dataset.uri(), ": ",
                                     dataset.At(id).object));
}

// Returns the bytes of `places` + 1 samples of `sample` bytes each: one sample
// for each of `places` threads, and one that is read while the threads work.
// Returns 1 / kPart of all memory if that is less.
std::uint64_t ForAllPlaces(const base::MemoryBudget& budget,
                           std::uint64_t sample, int places) {
  const std::uint64_t most = budget.limit() / kPart;
  const std::uint64_t samples = static_cast<std::uint64_t>(places) + 1;
  return sample > most / samples ? most : sample * samples;
}

}  // namespace

std::uint32_t SlotsFor(std::uint32_t depth) {
  return (depth == 0 ? kDefaultDepth : depth) + kLeaseQuota;
}

absl::StatusOr<base::MemoryReservation> ReserveReadWindow(
    base::MemoryBudget* budget, const dataset::Dataset& dataset, int places) {
  const std::uint64_t largest = storage::HeldBytes(dataset.largest_sample());
  const std::uint64_t least = std::max(kReadWindow, largest);
  const std::uint64_t wanted =
      std::max(least, ForAllPlaces(*budget, largest, places));
  auto window = budget->Reserve(wanted, "reads in flight");
  if (!window.ok() && wanted > least)
    window = budget->Reserve(least, "reads in flight");
  if (window.ok() || largest <= kReadWindow) return window;
  return NameLargest(window.status(), dataset);
}

}  // namespace forebay::stream
