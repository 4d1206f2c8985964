#ifndef FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_
#define FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/schedule/job_shares.h"

namespace forebay::storage {

// Tells several JobShares all that it is told. Thread-safe. Owns nothing: those
// that were added outlive the last call, or Remove. Never blocks. No errors.
class AllJobShares final : public schedule::JobShares {
 public:
  // Tells `shares` every weight and cap that is set, too.
  void Add(schedule::JobShares* shares);
  // Tells `shares` nothing any more.
  void Remove(schedule::JobShares* shares);

  void SetWeight(schedule::Flow job, double weight) override;
  void SetCap(schedule::Flow job, double bytes_per_second) override;
  void Forget(schedule::Flow job) override;

 private:
  // Held while the others are told, so that no weight or cap overtakes another.
  base::Mutex mutex_;
  std::vector<schedule::JobShares*> all_ ABSL_GUARDED_BY(mutex_);
  std::map<schedule::Flow, double> weights_ ABSL_GUARDED_BY(mutex_);
  std::map<schedule::Flow, double> caps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_ALL_JOB_SHARES_H_
