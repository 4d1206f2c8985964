#ifndef FOREBAY_SERVER_JOB_CONTROL_H_
#define FOREBAY_SERVER_JOB_CONTROL_H_

#include <string>

#include "absl/status/status.h"

namespace forebay::job {

// What the admin room may change of jobs. Thread-safe. The daemon owns it.
// Never blocks. Errors: NOT_FOUND names the jobs that there are;
// FAILED_PRECONDITION: several are called so.
class Control {
 public:
  virtual ~Control() = default;

  // The share of contended resources, 0.001 to 1000, of the job with this key
  // or name: from the next read and task on, and until the job ends, whatever
  // those say who attach. INVALID_ARGUMENT: another weight.
  virtual absl::Status SetWeight(const std::string& job, double weight) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_CONTROL_H_
