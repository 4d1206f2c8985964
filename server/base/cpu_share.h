#ifndef FOREBAY_SERVER_BASE_CPU_SHARE_H_
#define FOREBAY_SERVER_BASE_CPU_SHARE_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// Returns the number of CPUs that `text` names: a decimal number ("6", "1.5"),
// or a percentage of `total` CPUs ("75%"). Accepts values above 0, up to 1024
// CPUs or 100%. Signs and exponents are refused. INVALID_ARGUMENT quotes the
// text. Thread-safe; never blocks.
absl::StatusOr<double> ParseCpuShare(std::string_view text, double total);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CPU_SHARE_H_
