#ifndef FOREBAY_SERVER_JOB_SPEC_H_
#define FOREBAY_SERVER_JOB_SPEC_H_

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "server/job/control.h"

namespace forebay::job {

// INVALID_ARGUMENT unless key, name and weight are within the ranges that
// proto/job.proto gives.
absl::Status CheckIdentity(const proto::JobIdentity& identity);

// The same for a weight alone.
absl::Status CheckWeight(double weight);

// The same for a change of a job; control.h gives the ranges.
absl::Status CheckChange(const JobChange& change);

// The same for the loader's own part of the spec: name, batching and sharing.
// The other rooms check their parts.
absl::Status CheckLoader(const proto::LoaderSpec& spec);

// Returns what people see of a dataset: its folder, and what is read there.
std::string NameOf(const proto::DatasetSpec& spec);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_SPEC_H_
