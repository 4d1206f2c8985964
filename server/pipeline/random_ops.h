#ifndef FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_
#define FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace forebay::pipeline {

// INVALID_ARGUMENT, naming the op by its position (from 1) and name, if an op
// draws at random, and so does not do the same to a sample each time. Pure
// function.
absl::Status CheckNothingRandom(const proto::PipelineSpec& spec);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_
