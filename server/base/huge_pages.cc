#include "server/base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace forebay::base {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;  // bytes

}  // namespace

void PreferHugePages(void* start, std::uint64_t bytes) {
  if (bytes < kLeast) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(start);
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t end = (begin + bytes) / page * page;
  (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace forebay::base
