#ifndef FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_
#define FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace forebay::pipeline {

// Checks that no op draws at random, so that a sample always becomes the same
// tensor. INVALID_ARGUMENT: an op draws; the error names it by its position,
// from 1, and its name. Pure function.
absl::Status CheckNothingRandom(const proto::PipelineSpec& spec);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_RANDOM_OPS_H_
