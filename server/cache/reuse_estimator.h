#ifndef FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
#define FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// Estimates, for each dataset, how often a cached variant is used before it is
// evicted. This number of uses bounds the CPU time that making the next variant
// may cost. Until enough variants were evicted, all are worth making. Where
// variants do not pay, one is still made now and then, because readers come and
// go.
//
// Thread-safe. The cache owns it. Never blocks. Has no errors.
class ReuseEstimator {
 public:
  // Records that a variant was evicted after `uses` uses.
  void RecordEviction(std::uint64_t dataset, std::uint32_t uses);
  // Returns whether to make another variant, which costs `costs_nanos` of CPU
  // time, if each use saves `saves_nanos`.
  bool IsWorthMaking(std::uint64_t dataset, std::int64_t costs_nanos,
                     std::int64_t saves_nanos);

 private:
  // The evictions of a dataset's variants and their uses, in totals that are
  // halved now and then, so that older evictions weigh less.
  struct Record {
    double evicted = 0;
    double uses = 0;
    std::uint32_t declined = 0;  // offers declined in a row
  };

  base::Mutex mutex_;
  absl::flat_hash_map<std::uint64_t, Record> datasets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
