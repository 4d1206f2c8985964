#include "server/daemon/scratch_memory.h"

#include <algorithm>

namespace forebay::daemon {
namespace {

constexpr std::uint64_t kPart = 4;
// A 24-megapixel photograph that is jittered before it is resized fits in.
constexpr std::uint64_t kMaxOfAWorker = std::uint64_t{128} << 20;

}  // namespace

ScratchMemory ShareOutScratch(std::uint64_t image_limit,
                              std::uint64_t memory_limit, int workers) {
  const std::uint64_t all = memory_limit / kPart;
  const auto count = static_cast<std::uint64_t>(workers);
  if (image_limit <= std::min(kMaxOfAWorker, all / count))
    return {.worker = image_limit, .shared = 0};
  const std::uint64_t shared = std::min(image_limit, all / 2);
  return {.worker = std::min(kMaxOfAWorker, (all - shared) / count),
          .shared = shared};
}

}  // namespace forebay::daemon
