#ifndef FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
#define FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace forebay::pipeline {

// The choice of the vector instructions that process pixels. Without a limit,
// these are the widest that the CPU has. All instructions give the same bytes.
// The choice holds for the whole process. No function here blocks.

// Returns the name of the instructions in use, for people: "AVX3". Thread-safe.
std::string_view VectorTarget();

// Returns the names that LimitVectorTarget takes on this architecture: "auto",
// then "avx3_dl" and so on, widest first, then "none". Thread-safe.
std::vector<std::string> VectorTargetNames();

// Limits vector instructions to those called `name` and narrower ones, from now
// on. The widest of these that the CPU has are used. "auto" lifts the limit.
// Must not be called while pixels are processed, because plans made for other
// instructions do not fit. INVALID_ARGUMENT: the name is not one of
// VectorTargetNames.
absl::Status LimitVectorTarget(std::string_view name);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
