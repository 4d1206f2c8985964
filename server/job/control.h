#ifndef FOREBAY_SERVER_JOB_CONTROL_H_
#define FOREBAY_SERVER_JOB_CONTROL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace forebay::job {

// A change of a job's weight or caps. A field without a value changes nothing.
// The change applies from the next read and task until the job ends, whatever
// weight later attachments give.
struct JobChange {
  // The job's share of contended resources, 0.001 to 1000.
  std::optional<double> weight = std::nullopt;
  // The caps, which hold even where no other job wants the resource. `max_read`
  // is in bytes a second from each source, at least 1000. `max_cpus` is in
  // CPUs, 0.01 to 1024. Infinity removes a cap.
  std::optional<double> max_read = std::nullopt;
  std::optional<double> max_cpus = std::nullopt;
};

// Changes jobs for the admin room. Thread-safe. The daemon owns it. Never
// blocks. NOT_FOUND: there is no such job; the message names the jobs that
// exist. FAILED_PRECONDITION: several jobs have that name.
class Control {
 public:
  virtual ~Control() = default;

  // Changes the job whose key is `job` or, if there is none, whose name is
  // `job`. INVALID_ARGUMENT: a value is out of its range; nothing is changed.
  virtual absl::Status Change(const std::string& job,
                              const JobChange& change) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_CONTROL_H_
