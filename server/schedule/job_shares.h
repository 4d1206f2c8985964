#ifndef FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_
#define FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_

#include "server/schedule/flow.h"

namespace forebay::schedule {

// Learns each job's share of the resource that it schedules, and the job's end.
// This base class schedules nothing, and ignores what it learns. Thread-safe.
// The caller owns it. Never blocks. No errors.
class JobShares {
 public:
  virtual ~JobShares() = default;

  // Sets the job's share; 1 until set. Positive and finite.
  virtual void SetWeight(Flow, double) {}
  // Sets the most that the job may take: bytes a second of a source, CPUs
  // (seconds a second) of an executor. Positive; infinity: no cap, as until
  // set. No cap holds up what a job without a cap pays for too.
  virtual void SetCap(Flow, double) {}
  // The job ended: drops its weight and cap once its last work is done.
  virtual void Forget(Flow) {}
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_JOB_SHARES_H_
