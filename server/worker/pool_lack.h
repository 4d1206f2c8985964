#ifndef FOREBAY_SERVER_WORKER_POOL_LACK_H_
#define FOREBAY_SERVER_WORKER_POOL_LACK_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::worker {

// Returns RESOURCE_EXHAUSTED for a worker pool that lacks descriptors,
// processes or address space. A payload of the status distinguishes this error
// from the daemon's own lack of these resources.
absl::Status PoolLack(std::string_view text);
// Whether PoolLack made the status.
bool IsPoolLack(const absl::Status& status);

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_POOL_LACK_H_
