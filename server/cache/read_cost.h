#ifndef FOREBAY_SERVER_CACHE_READ_COST_H_
#define FOREBAY_SERVER_CACHE_READ_COST_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// Measures what a read below costs, for comparison with CPU time: the time in
// which the source is busy, over the bytes that it reads. The fastest of recent
// measurements counts: at other times the source is not the bottleneck. Each
// read counts as its bytes and a constant, as in EvictionCost. Assumes a fast
// disk until the first measurement.
//
// Thread-safe. Never blocks. No errors. Time is an argument.
class ReadCost {
 public:
  // Begin a read below, and end it: `bytes` long, 0 if it failed.
  void Begin(std::int64_t now_nanos);
  void End(std::int64_t now_nanos, std::uint64_t bytes);

  double NanosPerByte() const;

 private:
  void AdvanceLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  std::uint64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t busy_since_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since the last measurement.
  double busy_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  double bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  double nanos_per_byte_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_COST_H_
