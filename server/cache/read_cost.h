#ifndef FOREBAY_SERVER_CACHE_READ_COST_H_
#define FOREBAY_SERVER_CACHE_READ_COST_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// What a read below costs, so that it can be compared with CPU time: the time
// during which the source is busy, over what it reads then, when it goes
// fastest of late: at other times it is not the source that is waited for. Each
// read counts as its bytes and a constant, as EvictionCost has it. Until
// anything was read, a fast disk is assumed.
//
// Thread-safe; never blocks; no errors. Time is an argument.
class ReadCost {
 public:
  // A read was sent below, and is done: `bytes` long, 0 if it failed.
  void Began(std::int64_t now_nanos);
  void Ended(std::int64_t now_nanos, std::uint64_t bytes);

  double NanosPerByte() const;

 private:
  void AdvanceLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  std::uint64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t busy_since_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since the last look.
  double busy_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  double bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  double nanos_per_byte_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_READ_COST_H_
