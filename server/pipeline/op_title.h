#ifndef FOREBAY_SERVER_PIPELINE_OP_TITLE_H_
#define FOREBAY_SERVER_PIPELINE_OP_TITLE_H_

#include <string>

#include "proto/job.pb.h"

namespace forebay::pipeline {

// For people: "transform 2 (Resize)" for op number 1 of a pipeline.
// Thread-safe; never blocks.
std::string OpTitle(int index, const proto::Op& op);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_OP_TITLE_H_
