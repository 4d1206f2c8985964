#ifndef FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
#define FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_

#include <algorithm>
#include <cstdint>
#include <map>

#include "server/schedule/quantile_sketch.h"

namespace forebay::cache::disk {

// Detects a disk that is too slow to be useful. A disk is too slow in two
// cases, where "usual time" is the median time of reads from the source below:
// - most of the recent reads took longer than both 100 ms and twice the usual
// time;
// - a read has been in flight for longer than both a second and twice the usual
//   time. A disk that hangs completes no reads that could be counted. Time in
//   the queue does not count.
//
// Not thread-safe: its owner locks. Callers pass the time. Never blocks. Has no
// errors.
class SlowDiskDetector {
 public:
  // Begins a read of the disk. Returns its number.
  std::uint64_t Begin(std::int64_t now_nanos) {
    begun_at_nanos_.emplace(++last_, now_nanos);
    return last_;
  }
  // Ends a read. Returns true if recent reads were fast enough.
  bool End(std::uint64_t read, std::int64_t now_nanos) {
    const auto begun = begun_at_nanos_.find(read);
    const bool is_slow = now_nanos - begun->second > LimitNanos(kSlowNanos);
    begun_at_nanos_.erase(begun);
    slow_reads_ = is_slow ? slow_reads_ + 1 : std::max(slow_reads_ - 1, 0);
    return slow_reads_ == 0;
  }
  // Notes the time that a read of the source below took.
  void RecordSourceRead(std::int64_t nanos) { source_.Add(nanos); }

  // Returns true if the disk is too slow, and then forgets the reads that have
  // ended.
  bool Detect(std::int64_t now_nanos) {
    const bool hangs =
        !begun_at_nanos_.empty() &&
        now_nanos - begun_at_nanos_.begin()->second > LimitNanos(kHungNanos);
    if (!hangs && slow_reads_ < kMaxSlow) return false;
    slow_reads_ = 0;
    return true;
  }

 private:
  static constexpr std::int64_t kSlowNanos = 100'000'000;
  static constexpr std::int64_t kHungNanos = 1'000'000'000;
  // The surplus of slow reads over fast ones at which the disk is too slow. A
  // short pause of the device slows down only the reads that are in flight
  // during it.
  static constexpr int kMaxSlow = 64;

  // Returns the time above which a read is too slow: `least`, or twice the
  // usual time of the source if that is more.
  std::int64_t LimitNanos(std::int64_t least) const {
    return std::max(least, 2 * source_.Quantile(0.5));
  }

  std::map<std::uint64_t, std::int64_t> begun_at_nanos_;  // by read's number
  std::uint64_t last_ = 0;
  int slow_reads_ = 0;  // recent slow reads minus fast ones; at least 0
  schedule::QuantileSketch source_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
