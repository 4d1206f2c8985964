#ifndef FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_
#define FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_

#include <algorithm>
#include <cstdint>

#include "server/schedule/quantile_sketch.h"

namespace forebay::schedule {

// Tells after which time a request counts as stalled. The threshold is ten
// times the 99th percentile of the times that recent requests of the source
// took. The threshold is at most a hundred times their median, and at least 100
// ms. The median bounds the effect of stalls on the percentile. The threshold
// is computed once per kKnown requests, and grows by a factor of kMostTimes at
// most.
//
// Not thread-safe: the caller locks. Owns its state. Never blocks, reads no
// clock. No errors.
class StallThreshold {
 public:
  // The least threshold, in nanoseconds.
  static constexpr std::int64_t kMinNanos = 100'000'000;
  // The threshold, in nanoseconds, while fewer than kKnown requests have ended.
  static constexpr std::int64_t kUnknownNanos = 1'000'000'000;
  // The number of requests that end between two computations of the threshold.
  static constexpr std::uint64_t kKnown = 16;
  // The largest factor by which one computation raises the threshold.
  static constexpr std::int64_t kMostTimes = 4;

  // Adds a request that has ended after `nanos`. A stalled request counts as
  // kMostTimes thresholds at most, because the length of a fault tells nothing
  // about the source's usual speed.
  void Observe(std::int64_t nanos) {
    times_.Add(std::min(nanos, kMostTimes * nanos_));
    if (++observed_ % kKnown != 0) return;
    nanos_ = std::clamp(
        std::min(10 * times_.Quantile(0.99), 100 * times_.Quantile(0.5)),
        kMinNanos, kMostTimes * nanos_);
  }

  // Returns the threshold, in nanoseconds.
  std::int64_t nanos() const { return nanos_; }

 private:
  QuantileSketch times_;
  std::uint64_t observed_ = 0;
  std::int64_t nanos_ = kUnknownNanos;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_STALL_THRESHOLD_H_
