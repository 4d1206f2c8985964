#ifndef FOREBAY_SERVER_JOB_CONTROL_H_
#define FOREBAY_SERVER_JOB_CONTROL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace forebay::job {

// A change of a job; a field without a value changes nothing. It applies from
// the next read and task until the job ends, whatever later attachments say.
struct JobChange {
  // Share of contended resources, 0.001 to 1000.
  std::optional<double> weight = std::nullopt;
  // Caps, which hold even where no other job wants anything; infinity: no cap.
  // Bytes a second of each source, at least 1000; and CPUs, 0.01 to 1024.
  std::optional<double> max_read = std::nullopt;
  std::optional<double> max_cpus = std::nullopt;
};

// Changes jobs for the admin room. Thread-safe. The daemon owns it. Never
// blocks. Errors: NOT_FOUND names the jobs that exist; FAILED_PRECONDITION:
// several jobs have that name.
class Control {
 public:
  virtual ~Control() = default;

  // Changes the job with this key or, if none has it, with this name.
  // INVALID_ARGUMENT: a value is out of its range, and nothing is changed.
  virtual absl::Status Change(const std::string& job,
                              const JobChange& change) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_CONTROL_H_
