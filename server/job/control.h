#ifndef FOREBAY_SERVER_JOB_CONTROL_H_
#define FOREBAY_SERVER_JOB_CONTROL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace forebay::job {

// What of a job is to change; what is not given stays as it is. Holds from the
// next read and task on, and until the job ends, whatever those say who attach.
struct JobChange {
  // The share of what is contended, 0.001 to 1000.
  std::optional<double> weight = std::nullopt;
  // The most that it may take even where nobody else wants any; infinity: no
  // cap. Bytes a second of each source, from 1000; and CPUs, 0.01 to 1024.
  std::optional<double> max_read = std::nullopt;
  std::optional<double> max_cpus = std::nullopt;
};

// What the admin room may change of jobs. Thread-safe. The daemon owns it.
// Never blocks. Errors: NOT_FOUND names the jobs that there are;
// FAILED_PRECONDITION: several are called so.
class Control {
 public:
  virtual ~Control() = default;

  // Of the job with this key or, if none has it, with this name.
  // INVALID_ARGUMENT, and nothing is changed: a value is out of its range.
  virtual absl::Status Change(const std::string& job,
                              const JobChange& change) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_CONTROL_H_
