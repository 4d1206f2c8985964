#ifndef FOREBAY_CLIENT_ABI_PIPELINE_OPS_H_
#define FOREBAY_CLIENT_ABI_PIPELINE_OPS_H_

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/forebay.h"

namespace forebay::client::abi {

// Appends the op that `make_op` returns. `problem`: what is wrong with a value
// of the op; null if nothing is. The daemon checks all values when a loader is
// opened; a caller checks here only pointers and enums.
template <typename MakeOp>
forebay_status AddOp(forebay_pipeline* pipeline, const char* problem,
                     const MakeOp& make_op) {
  return Guard(pipeline != nullptr, [&] {
    if (problem != nullptr) return Status(FOREBAY_INVALID_ARGUMENT, problem);
    pipeline->spec.ops.push_back({make_op()});
    return Status();
  });
}

// Returns `problem` unless `value` is one of an enum's values from `first` to
// `last`.
template <typename Enum>
const char* UnlessKnown(Enum value, Enum first, Enum last,
                        const char* problem) {
  return value >= first && value <= last ? nullptr : problem;
}

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_PIPELINE_OPS_H_
