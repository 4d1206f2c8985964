#ifndef FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
#define FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::daemon {

// Returns the size of the cache in bytes. `setting` is the value of the key
// `cache.memory`, and `limit` that of `memory.limit` in bytes. The setting is a
// size, a share of the limit, "0" or "auto". "auto" means a quarter of the
// limit, or less on a small host, so that enough is left for loaders.
// Thread-safe; never blocks. INVALID_ARGUMENT quotes the text.
absl::StatusOr<std::uint64_t> CacheMemory(std::string_view setting,
                                          std::uint64_t limit);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
