#include "server/dataset/composed/subset.h"

#include <algorithm>
#include <utility>

#include "server/dataset/version_digest.h"

namespace forebay::dataset::composed {
namespace {

// Returns the size in bytes of the largest sample in the list.
std::uint64_t LargestOf(const Dataset& whole, const base::IndexList& list) {
  std::uint64_t largest = 0;
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    largest = std::max(largest, whole.At(list.At(i)).length);
    // The whole has no larger sample, so the search may end.
    if (largest == whole.largest_sample()) break;
  }
  return largest;
}

}  // namespace

Subset::Subset(std::shared_ptr<const Dataset> whole,
               std::shared_ptr<const base::IndexList> list)
    : whole_(std::move(whole)),
      list_(std::move(list)),
      version_(VersionDigest("subset")
                   .Add(whole_->version())
                   .Add(list_->digest())
                   .Add(list_->size())
                   .Get()),
      largest_sample_(LargestOf(*whole_, *list_)) {}

// The list may have a sample of the whole several times, or not at all.
void Subset::FindSamples(const SourceSample& sample,
                         std::vector<std::uint64_t>* ids) const {
  std::vector<std::uint64_t> of_whole;
  whole_->FindSamples(sample, &of_whole);
  for (const std::uint64_t id : of_whole) {
    const absl::Span<const std::uint32_t> positions = list_->PositionsOf(id);
    ids->insert(ids->end(), positions.begin(), positions.end());
  }
}

}  // namespace forebay::dataset::composed
