#include "server/stream/pace.h"

#include <algorithm>

namespace forebay::stream {
namespace {

constexpr std::int64_t kTaskNanos = 8'000'000;
constexpr std::int64_t kMaxTaskSamples = 64;

std::int64_t RunningMean(std::int64_t mean, std::int64_t value) {
  return mean + (value - mean) / 16;
}

}  // namespace

void Pace::SampleCost(std::int64_t cpu_nanos) {
  cpu_nanos_ = RunningMean(cpu_nanos_, cpu_nanos);
}

std::uint32_t Pace::task_samples() const {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      kTaskNanos / std::max<std::int64_t>(cpu_nanos_, 1), 1, kMaxTaskSamples));
}

void Pace::Published(std::uint64_t samples, std::int64_t now_nanos) {
  if (published_at_nanos_.has_value()) {
    const std::int64_t period =
        std::max<std::int64_t>(1, (now_nanos - *published_at_nanos_) /
                                      static_cast<std::int64_t>(samples));
    period_nanos_ =
        period_nanos_ == 0 ? period : RunningMean(period_nanos_, period);
  }
  published_at_nanos_ = now_nanos;
}

std::uint64_t Pace::Urgency(std::uint64_t samples) const {
  const std::uint64_t before = ready_ + samples;
  return period_nanos_ == 0 ? before
                            : static_cast<std::uint64_t>(TimeOf(before));
}

std::int64_t Pace::TimeOf(std::uint64_t samples) const {
  if (period_nanos_ == 0 ||
      samples > static_cast<std::uint64_t>(INT64_MAX / period_nanos_)) {
    return INT64_MAX;
  }
  return static_cast<std::int64_t>(samples) * period_nanos_;
}

}  // namespace forebay::stream
