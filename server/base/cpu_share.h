#ifndef FOREBAY_SERVER_BASE_CPU_SHARE_H_
#define FOREBAY_SERVER_BASE_CPU_SHARE_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// Returns the CPUs of a text as people write it: a number of CPUs ("6", "1.5"),
// or a percentage of `total` ("75%"). It is more than 0, at most 1024 or 100%,
// and has no sign or exponent. INVALID_ARGUMENT quotes the text.
absl::StatusOr<double> ParseCpuShare(std::string_view text, double total);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CPU_SHARE_H_
