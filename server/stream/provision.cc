#include "server/stream/provision.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kDefaultDepth = 2;
// Enough to keep many workers busy with large photographs, little beside the
// slots.
constexpr std::uint64_t kReadWindow = std::uint64_t{16} << 20;

// Who has to find the one sample that needs so much should not have to guess.
absl::Status BlameLargest(const absl::Status& status,
                          const dataset::Dataset& dataset) {
  std::uint64_t id = 0;
  while (dataset.At(id).length != dataset.largest_sample()) ++id;
  return base::Annotate(status,
                        absl::StrCat("sample ", id, " of ", dataset.uri(), ": ",
                                     dataset.At(id).object));
}

}  // namespace

absl::StatusOr<Provision> Provision::Reserve(base::MemoryBudget* budget,
                                             const Recipe& recipe,
                                             std::uint64_t slot_bytes) {
  Provision provision;
  const std::uint32_t depth = recipe.batch.depth();
  provision.slots_ = (depth == 0 ? kDefaultDepth : depth) + kLeaseQuota;
  FOREBAY_ASSIGN_OR_RETURN(
      provision.batches_,
      budget->Reserve(provision.slots_ * slot_bytes, "batches"));
  const std::uint64_t largest =
      storage::HeldBytes(recipe.dataset->largest_sample());
  auto window =
      budget->Reserve(std::max(kReadWindow, largest), "reads in flight");
  if (!window.ok()) {
    return largest > kReadWindow
               ? BlameLargest(window.status(), *recipe.dataset)
               : window.status();
  }
  provision.read_window_ = *std::move(window);
  return provision;
}

}  // namespace forebay::stream
