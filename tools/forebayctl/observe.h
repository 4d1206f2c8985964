#ifndef FOREBAY_TOOLS_FOREBAYCTL_OBSERVE_H_
#define FOREBAY_TOOLS_FOREBAYCTL_OBSERVE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/admin.pb.h"
#include "tools/forebayctl/admin_client.h"
#include "tools/forebayctl/rates.h"

namespace forebay::ctl {

// The jobs that exist at the end of a period, and their work during that
// period.
struct Observation {
  proto::JobList list;
  std::vector<JobRates> rates;  // of the jobs in the list
};

// Measures all jobs for `seconds`, and blocks for that time. Not thread-safe,
// because `client` is not. Errors are those of ListJobs.
absl::StatusOr<Observation> Observe(AdminClient* client, double seconds);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_OBSERVE_H_
