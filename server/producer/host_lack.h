#ifndef FOREBAY_SERVER_PRODUCER_HOST_LACK_H_
#define FOREBAY_SERVER_PRODUCER_HOST_LACK_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::producer {

// Returns the error of a host that lacks descriptors, processes or address
// space: RESOURCE_EXHAUSTED, told from the daemon's own lack.
absl::Status HostLack(std::string_view text);
bool IsHostLack(const absl::Status& status);

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_HOST_LACK_H_
