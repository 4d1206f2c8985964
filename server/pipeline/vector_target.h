#ifndef FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
#define FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace forebay::pipeline {

// The vector instructions that pixels are processed with: the widest that this
// CPU has, unless limited. The bytes that come out are the same with all of
// them. They are chosen for the whole process. Nothing here blocks.

// Those in use, for people: "AVX3". Thread-safe.
std::string_view VectorTarget();

// What LimitVectorTarget takes on this architecture: "auto", then "avx3_dl" and
// so on, widest first, then "none". Thread-safe.
std::vector<std::string> VectorTargetNames();

// From now on nothing wider than `name` is used; where the CPU lacks that, too,
// the widest that it has. "auto": no limit. Must not be called while anything
// is processed: plans that were made for other instructions do not fit.
// INVALID_ARGUMENT: none of VectorTargetNames.
absl::Status LimitVectorTarget(std::string_view name);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
