#include "server/stream/batch_policy.h"

#include <algorithm>

namespace forebay::stream {

bool GivesWay(const BatchRequest& leader, const BatchRequest& follower) {
  return follower.position < leader.position &&
         leader.position - follower.position < leader.left / 2;
}

std::optional<std::size_t> NextRequest(
    absl::Span<const BatchRequest> requests) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].open) continue;
    const bool waits = std::any_of(
        requests.begin(), requests.end(), [&](const BatchRequest& other) {
          return other.claims && GivesWay(requests[i], other);
        });
    if (!waits &&
        (!best.has_value() || requests[i].served < requests[*best].served))
      best = i;
  }
  return best;
}

}  // namespace forebay::stream
