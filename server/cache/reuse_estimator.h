#ifndef FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
#define FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"

namespace forebay::cache {

// How often the variants that were kept of each dataset's samples were used
// before they left: what making the next one may cost. Until enough have left,
// each is taken to be used often. Where they do not pay, now and then one is
// made all the same: readers come and go.
//
// Thread-safe; never blocks; no errors.
class ReuseEstimator {
 public:
  // A variant left, used so often.
  void Left(std::uint64_t dataset, std::uint32_t uses);
  // Whether to make one more, if that costs `costs_nanos` and each use saves
  // `saves_nanos`.
  bool Pays(std::uint64_t dataset, std::int64_t costs_nanos,
            std::int64_t saves_nanos);

 private:
  // What was long ago counts less and less.
  struct Record {
    double left = 0;
    double uses = 0;
    std::uint32_t declined = 0;
  };

  base::Mutex mutex_;
  absl::flat_hash_map<std::uint64_t, Record> datasets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_REUSE_ESTIMATOR_H_
