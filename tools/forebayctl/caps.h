#ifndef FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_

#include <string>

#include "absl/status/statusor.h"

namespace forebay::ctl {

// Caps as people write them; 0 means none. Thread-safe; nothing blocks. Errors:
// INVALID_ARGUMENT, a sentence that quotes the text.

// "200MB/s", "1.5GiB/s" or "none": bytes a second. KB, MB, GB and TB are powers
// of 1000, KiB and so on of 1024.
absl::StatusOr<double> ParseReadCap(const std::string& text);
// "2", "0.5" or "none": CPUs.
absl::StatusOr<double> ParseCpuCap(const std::string& text);

// "at most 200 MB/s", "as much as it can".
std::string DescribeReadCap(double bytes_per_second);
// "at most 2 CPUs", "as many CPUs as it can".
std::string DescribeCpuCap(double cpus);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_CAPS_H_
