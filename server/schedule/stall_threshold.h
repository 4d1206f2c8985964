#ifndef FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_
#define FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_

#include <algorithm>
#include <cstdint>

#include "server/schedule/quantile_sketch.h"

namespace forebay::schedule {

// Tells after which time a request counts as stalled: ten times the 99th
// percentile of the times that requests of its source took of late, at most a
// hundred times their median, and at least 100 ms. The median bounds what
// stalls themselves do to the percentile. Each kKnown requests, the threshold
// grows to kMostTimes itself at most.
//
// Pure. Not thread-safe; never blocks. No errors.
class StallThreshold {
 public:
  static constexpr std::int64_t kMinNanos = 100'000'000;
  // The threshold while fewer than kKnown requests have ended.
  static constexpr std::int64_t kUnknownNanos = 1'000'000'000;
  static constexpr std::uint64_t kKnown = 16;
  static constexpr std::int64_t kMostTimes = 4;

  // A request of the source has ended, and took so long. A stalled request
  // counts as one of kMostTimes thresholds at most, because how long a fault
  // lasted tells nothing about the source.
  void Observe(std::int64_t nanos) {
    times_.Add(std::min(nanos, kMostTimes * nanos_));
    if (++observed_ % kKnown != 0) return;
    nanos_ = std::clamp(
        std::min(10 * times_.Quantile(0.99), 100 * times_.Quantile(0.5)),
        kMinNanos, kMostTimes * nanos_);
  }

  std::int64_t nanos() const { return nanos_; }

 private:
  QuantileSketch times_;
  std::uint64_t observed_ = 0;
  std::int64_t nanos_ = kUnknownNanos;  // computed anew now and then
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_
