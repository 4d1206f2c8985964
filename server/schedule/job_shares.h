#ifndef FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_
#define FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_

#include "server/schedule/flow.h"

namespace forebay::schedule {

// A listener that learns each job's share of one resource, and the job's end.
// Every scheduler of a resource implements it. This base class schedules
// nothing, and ignores what it learns.
//
// Thread-safe. The caller owns it. Never blocks. No errors.
class JobShares {
 public:
  virtual ~JobShares() = default;

  // Sets the job's weight: its share of the resource relative to other jobs.
  // The weight is positive and finite, and is 1 until set.
  virtual void SetWeight(Flow, double) {}
  // Sets the job's cap: the most of the resource that the job may take. The
  // unit is bytes a second for a source, and CPUs (seconds a second) for an
  // executor. The cap is positive; infinity, the default, means no cap. Work
  // that a job without a cap also pays for is not held up by any cap.
  virtual void SetCap(Flow, double) {}
  // Notes that the job has ended. Drops its weight and cap once its last work
  // is done.
  virtual void Forget(Flow) {}
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_
