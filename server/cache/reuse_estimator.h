#ifndef FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
#define FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// Estimates, for each dataset, how often a cached variant is used before it is
// evicted, and so what making the next one may cost. Until enough were evicted,
// variants count as used often. Where they do not pay, it still accepts one at
// times, because readers come and go.
//
// Thread-safe. Never blocks. No errors.
class ReuseEstimator {
 public:
  // Records that a variant was evicted after so many uses.
  void RecordEviction(std::uint64_t dataset, std::uint32_t uses);
  // Returns whether to make one more, at `costs_nanos`, if each use saves
  // `saves_nanos`.
  bool IsWorthMaking(std::uint64_t dataset, std::int64_t costs_nanos,
                     std::int64_t saves_nanos);

 private:
  // Totals in which older evictions weigh less.
  struct Record {
    double evicted = 0;
    double uses = 0;
    std::uint32_t declined = 0;
  };

  base::Mutex mutex_;
  absl::flat_hash_map<std::uint64_t, Record> datasets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
