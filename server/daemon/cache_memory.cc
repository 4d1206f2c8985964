#include "server/daemon/cache_memory.h"

#include <algorithm>

#include "server/base/byte_size.h"

namespace forebay::daemon {
namespace {

// The bytes that "auto" leaves for the slots, reads and scratch of a few
// loaders.
constexpr std::uint64_t kLeftToLoaders = std::uint64_t{512} << 20;

}  // namespace

absl::StatusOr<std::uint64_t> CacheMemory(std::string_view setting,
                                          std::uint64_t limit) {
  if (setting == "0") return 0;
  if (setting == "auto")
    return std::min(limit / 4, limit - std::min(limit, kLeftToLoaders));
  return base::ParseByteSize(setting, limit);
}

}  // namespace forebay::daemon
