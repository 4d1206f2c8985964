#ifndef FOREBAY_SERVER_PIPELINE_PROGRAM_COMPILER_H_
#define FOREBAY_SERVER_PIPELINE_PROGRAM_COMPILER_H_

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/pipeline/image/program.h"
#include "server/pipeline/image/program_builder.h"

namespace forebay::pipeline {

// Makes a program of a spec. INVALID_ARGUMENT names the op by its position,
// from 1, and its name. Thread-safe; never blocks.
absl::StatusOr<image::Program> MakeProgram(
    const proto::PipelineSpec& spec, const image::ProgramInput& input = {});

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PROGRAM_COMPILER_H_
