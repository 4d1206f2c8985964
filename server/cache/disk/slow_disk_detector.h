#ifndef FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
#define FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_

#include <algorithm>
#include <cstdint>
#include <map>

#include "server/schedule/quantile_sketch.h"

namespace forebay::cache::disk {

// Tells when the tier's disk is too slow to be of use: when most reads of late
// took longer than 100 ms and than twice what the source below usually takes,
// or when one has been under way for a second and as long: a disk that hangs
// completes none. Only the disk is judged: what waits for its turn is not.
//
// Not thread-safe; never blocks; no errors.
class SlowDiskDetector {
 public:
  // A read of the disk begins.
  std::uint64_t Begin(std::int64_t now_nanos) {
    begun_at_nanos_.emplace(++last_, now_nanos);
    return last_;
  }
  // It has ended. True: so soon, as have those before it, that all is well.
  bool End(std::uint64_t read, std::int64_t now_nanos) {
    const auto begun = begun_at_nanos_.find(read);
    const bool is_slow = now_nanos - begun->second > LimitNanos(kSlowNanos);
    begun_at_nanos_.erase(begun);
    slow_ = is_slow ? slow_ + 1 : std::max(slow_ - 1, 0);
    return slow_ == 0;
  }
  void SourceTook(std::int64_t nanos) { source_.Add(nanos); }

  // True: too slow; of those that have ended, new ones count from now on.
  bool RunOut(std::int64_t now_nanos) {
    const bool hangs =
        !begun_at_nanos_.empty() &&
        now_nanos - begun_at_nanos_.begin()->second > LimitNanos(kHungNanos);
    if (!hangs && slow_ < kMaxSlow) return false;
    slow_ = 0;
    return true;
  }

 private:
  static constexpr std::int64_t kSlowNanos = 100'000'000;
  static constexpr std::int64_t kHungNanos = 1'000'000'000;
  static constexpr int kMaxSlow = 64;

  std::int64_t LimitNanos(std::int64_t least) const {
    return std::max(least, 2 * source_.Quantile(0.5));
  }

  std::map<std::uint64_t, std::int64_t> begun_at_nanos_;  // the oldest first
  std::uint64_t last_ = 0;
  int slow_ = 0;  // more reads than were not, of late
  schedule::QuantileSketch source_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
