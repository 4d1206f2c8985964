#include "server/stream/pace.h"

#include <algorithm>

namespace forebay::stream {

void Pace::Published(std::uint64_t samples, std::int64_t now_nanos) {
  if (published_at_nanos_.has_value()) {
    const std::int64_t period =
        std::max<std::int64_t>(1, (now_nanos - *published_at_nanos_) /
                                      static_cast<std::int64_t>(samples));
    period_nanos_ = period_nanos_ == 0
                        ? period
                        : period_nanos_ + (period - period_nanos_) / 16;
  }
  published_at_nanos_ = now_nanos;
}

std::uint64_t Pace::Urgency(std::uint64_t samples) const {
  return period_nanos_ == 0 ? samples
                            : static_cast<std::uint64_t>(TimeOf(samples));
}

std::int64_t Pace::TimeOf(std::uint64_t samples) const {
  if (period_nanos_ == 0 ||
      samples > static_cast<std::uint64_t>(INT64_MAX / period_nanos_)) {
    return INT64_MAX;
  }
  return static_cast<std::int64_t>(samples) * period_nanos_;
}

}  // namespace forebay::stream
