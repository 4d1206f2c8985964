#ifndef FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_

#include <string>

#include "absl/status/statusor.h"

namespace forebay::ctl {

// Converts caps between numbers and text for people. The number 0 means no cap.
// All functions are thread-safe and never block. INVALID_ARGUMENT: the text is
// malformed or out of range; the message quotes it.

// Returns the bytes a second that a text such as "200MB/s", "1.5GiB/s" or
// "none" means. KB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB of
// 1024.
absl::StatusOr<double> ParseReadCap(const std::string& text);
// Returns the number of CPUs that a text such as "2", "0.5" or "none" means.
absl::StatusOr<double> ParseCpuCap(const std::string& text);

// Returns a clause such as "at most 200 MB/s" or "as much as it can".
std::string DescribeReadCap(double bytes_per_second);
// Returns a clause such as "at most 2 CPUs" or "as many CPUs as it can".
std::string DescribeCpuCap(double cpus);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_
