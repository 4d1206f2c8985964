#ifndef FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_
#define FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/schedule/job_shares.h"

namespace forebay::storage {

// Passes the weights and caps of jobs on to every JobShares that was added:
// sources, caches and executors that divide a resource among jobs.
//
// Thread-safe. The caller owns the JobShares, and destroys each only after the
// last call or after Remove. A call blocks only while another call is under
// way. No errors.
class AllJobShares final : public schedule::JobShares {
 public:
  // Adds `shares`, and tells it every weight and cap that is set already.
  void Add(schedule::JobShares* shares);
  // Removes `shares`: no call reaches it once Remove has returned.
  void Remove(schedule::JobShares* shares);

  void SetWeight(schedule::Flow job, double weight) override;
  void SetCap(schedule::Flow job, double bytes_per_second) override;
  void Forget(schedule::Flow job) override;

 private:
  // This mutex is held while the JobShares are called, so that an older weight
  // or cap never overwrites a newer one.
  base::Mutex mutex_;
  std::vector<schedule::JobShares*> all_ ABSL_GUARDED_BY(mutex_);
  // The weights and caps (bytes per second) that are set, by job. Add passes
  // them to each new JobShares.
  std::map<schedule::Flow, double> weights_ ABSL_GUARDED_BY(mutex_);
  std::map<schedule::Flow, double> caps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_
