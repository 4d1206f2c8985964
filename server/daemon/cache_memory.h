#ifndef FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
#define FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::daemon {

// Returns the bytes that `cache.memory` means where `memory.limit` is `limit`
// bytes. It is a size, a share of the limit, "0", or "auto": a quarter of the
// limit, or less, so that enough is left for the loaders of a small host.
// Thread-safe; never blocks. INVALID_ARGUMENT quotes the text.
absl::StatusOr<std::uint64_t> CacheMemory(std::string_view setting,
                                          std::uint64_t limit);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CACHE_MEMORY_H_
