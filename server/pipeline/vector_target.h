#ifndef FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
#define FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace forebay::pipeline {

// The vector instructions that process pixels: the widest that this CPU has,
// unless limited. All give the same bytes. They are chosen for the whole
// process. Nothing here blocks.

// Names those in use, for people: "AVX3". Thread-safe.
std::string_view VectorTarget();

// Returns what LimitVectorTarget takes on this architecture: "auto", then
// "avx3_dl" and so on, widest first, then "none". Thread-safe.
std::vector<std::string> VectorTargetNames();

// Uses nothing wider than `name` from then on; if the CPU lacks that, the
// widest that it has. "auto" means no limit. Must not be called while anything
// is processed: plans made for other instructions do not fit. INVALID_ARGUMENT:
// not one of VectorTargetNames.
absl::Status LimitVectorTarget(std::string_view name);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
