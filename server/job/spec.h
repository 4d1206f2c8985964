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

// Likewise of a weight alone.
absl::Status CheckWeight(double weight);

// Likewise of what is to change of a job, as control.h says.
absl::Status CheckChange(const JobChange& change);

// Likewise of what is the loader's own: its name and batching. The other rooms
// check their parts of the spec.
absl::Status CheckLoader(const proto::LoaderSpec& spec);

// What people see of a dataset: its folder, and what is read there.
std::string NameOf(const proto::DatasetSpec& spec);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_SPEC_H_
