#ifndef FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
#define FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_

#include <algorithm>
#include <cstdint>
#include <map>

#include "server/schedule/quantile_sketch.h"

namespace forebay::cache::disk {

// Detects a disk that is too slow to be useful. Either most recent reads took
// longer than 100 ms and than twice the usual time of the source below; or one
// read has been in flight for longer than a second and than twice that time,
// because a disk that hangs completes none. Time in the queue does not count.
//
// Not thread-safe. Never blocks. No errors.
class SlowDiskDetector {
 public:
  // Begins a read of the disk. Returns its number.
  std::uint64_t Begin(std::int64_t now_nanos) {
    begun_at_nanos_.emplace(++last_, now_nanos);
    return last_;
  }
  // Ends a read. Returns true if the disk is not slow: recent reads were fast
  // enough.
  bool End(std::uint64_t read, std::int64_t now_nanos) {
    const auto begun = begun_at_nanos_.find(read);
    const bool is_slow = now_nanos - begun->second > LimitNanos(kSlowNanos);
    begun_at_nanos_.erase(begun);
    slow_reads_ = is_slow ? slow_reads_ + 1 : std::max(slow_reads_ - 1, 0);
    return slow_reads_ == 0;
  }
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
  static constexpr int kMaxSlow = 64;

  std::int64_t LimitNanos(std::int64_t least) const {
    return std::max(least, 2 * source_.Quantile(0.5));
  }

  std::map<std::uint64_t, std::int64_t> begun_at_nanos_;  // oldest first
  std::uint64_t last_ = 0;
  int slow_reads_ = 0;  // recent slow reads minus fast ones; at least 0
  schedule::QuantileSketch source_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SLOW_DISK_DETECTOR_H_
