#include "server/daemon/scratch_memory.h"

#include <algorithm>

namespace forebay::daemon {
namespace {

// Scratch takes at most 1/kPart of the daemon's memory.
constexpr std::uint64_t kPart = 4;
// The most bytes of one place: enough for a 24-megapixel photograph whose
// colours are jittered before it is resized.
constexpr std::uint64_t kMaxOfAPlace = std::uint64_t{128} << 20;

}  // namespace

// If every place can have scratch for the largest image, there is no shared
// workspace. If not, the shared workspace gets `image_limit` bytes, but at most
// half of all scratch, and the places divide what is left.
ScratchMemory ShareOutScratch(std::uint64_t image_limit,
                              std::uint64_t memory_limit, int places) {
  const std::uint64_t all = memory_limit / kPart;
  const auto count = static_cast<std::uint64_t>(places);
  if (image_limit <= std::min(kMaxOfAPlace, all / count))
    return {.place = image_limit, .shared = 0};
  const std::uint64_t shared = std::min(image_limit, all / 2);
  return {.place = std::min(kMaxOfAPlace, (all - shared) / count),
          .shared = shared};
}

}  // namespace forebay::daemon
