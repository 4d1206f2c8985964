#include "server/stream/agenda.h"

#include <algorithm>

namespace forebay::stream {

bool GivesWay(const Wish& leader, const Wish& follower) {
  return follower.position < leader.position &&
         leader.position - follower.position < leader.left / 2;
}

std::optional<std::size_t> NextWish(absl::Span<const Wish> wishes) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].open) continue;
    const bool waits =
        std::any_of(wishes.begin(), wishes.end(), [&](const Wish& other) {
          return other.claims && GivesWay(wishes[i], other);
        });
    if (!waits &&
        (!best.has_value() || wishes[i].served < wishes[*best].served))
      best = i;
  }
  return best;
}

}  // namespace forebay::stream
