#ifndef FOREBAY_SERVER_PIPELINE_OP_TITLE_H_
#define FOREBAY_SERVER_PIPELINE_OP_TITLE_H_

#include <string>

#include "proto/job.pb.h"

namespace forebay::pipeline {

// Returns an op's name for people, with its number from 1: "transform 2
// (Resize)" for `index` 1. Thread-safe; never blocks; no errors.
std::string OpTitle(int index, const proto::Op& op);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_OP_TITLE_H_
