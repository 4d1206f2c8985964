#ifndef FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
#define FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::daemon {

// Returns the size of the cache in bytes. `setting` is the value of the key
// `cache.memory`: a size, a share of `limit`, "0" or "auto". `limit` is the
// value of the key `memory.limit` in bytes. "auto" means a quarter of `limit`,
// or less on a small host, so that enough is left for loaders. Thread-safe;
// never blocks. INVALID_ARGUMENT: `setting` is none of these; the message
// quotes it.
absl::StatusOr<std::uint64_t> CacheMemory(std::string_view setting,
                                          std::uint64_t limit);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
