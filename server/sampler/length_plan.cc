#include "server/sampler/length_plan.h"

#include <algorithm>
#include <vector>

namespace forebay::sampler {

std::uint64_t StepsOfBatch(absl::Span<const std::uint64_t> lengths,
                           std::uint32_t world_size, const LengthPlan& plan) {
  const std::uint64_t steps = (lengths.size() + world_size - 1) / world_size;
  const std::uint64_t most = std::min(steps, plan.batch);
  if (!plan.limit.has_value()) return most;
  const LengthLimit& limit = *plan.limit;
  // The total length of each rank's samples so far.
  std::vector<std::uint64_t> sums(world_size);
  std::uint64_t longest = 0;
  for (std::uint64_t step = 0; step < most; ++step) {
    const auto ranks = lengths.subspan(step * world_size, world_size);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      sums[rank] += ranks[rank];
      longest = std::max(longest, ranks[rank]);
    }
    const std::uint64_t sum = *std::max_element(sums.begin(), sums.end());
    // Dividing `most` instead of multiplying `longest` avoids an overflow.
    const bool fits =
        limit.padded ? longest <= limit.most / (step + 1) : sum <= limit.most;
    if (!fits) return std::max<std::uint64_t>(step, 1);
  }
  return most;
}

}  // namespace forebay::sampler
