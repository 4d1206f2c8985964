#ifndef FOREBAY_SERVER_CACHE_READ_COST_H_
#define FOREBAY_SERVER_CACHE_READ_COST_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// Measures what a read from the source below costs, for comparison with CPU
// time. The cost is the time for which the source is busy, divided by the bytes
// that it reads. The fastest of recent measurements counts, because at other
// times the source is not the bottleneck. A read counts as its bytes and
// kRequestBytes, as in EvictionCost. A fast disk is assumed until the first
// measurement.
//
// Thread-safe; callers pass the time. The cache owns it. Never blocks. Has no
// errors.
class ReadCost {
 public:
  // Notes that a read below has begun.
  void Begin(std::int64_t now_nanos);
  // Notes that a read below has ended with `bytes` bytes, 0 if it failed.
  void End(std::int64_t now_nanos, std::uint64_t bytes);

  // Returns the source's busy time for each byte, in nanoseconds.
  double NanosPerByte() const;

 private:
  // If a read was in flight, adds to `busy_nanos_` the time since the last
  // call.
  void AdvanceLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  std::uint64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t busy_since_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // The busy time and the bytes read since the last measurement.
  double busy_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  double bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  double nanos_per_byte_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_COST_H_
