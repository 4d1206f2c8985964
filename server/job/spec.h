#ifndef FOREBAY_SERVER_JOB_SPEC_H_
#define FOREBAY_SERVER_JOB_SPEC_H_

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "server/job/control.h"

namespace forebay::job {

// The checks return INVALID_ARGUMENT, whose message says what is allowed. All
// functions are thread-safe and never block.

// Checks that the identity's key, name and weight are within the ranges of
// proto/job.proto.
absl::Status CheckIdentity(const proto::JobIdentity& identity);

// Checks that a weight is within the range of proto/job.proto.
absl::Status CheckWeight(double weight);

// Checks that a change of a job is within the ranges of control.h.
absl::Status CheckChange(const JobChange& change);

// Checks the loader's own part of the spec: name, batching and sharing. The
// other rooms check their parts.
absl::Status CheckLoader(const proto::LoaderSpec& spec);

// Returns a dataset's name for people: its folder, and the manifest or the
// first files that are read there.
std::string NameOf(const proto::DatasetSpec& spec);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_SPEC_H_
