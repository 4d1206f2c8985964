#include "server/base/new_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "server/base/worker_threads.h"

namespace forebay::base {
namespace {

// Filling less memory than this takes less time than starting threads for it.
constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;  // bytes
// Each thread takes one piece after another. A piece has this size and is
// aligned to it, so it consists of whole huge pages (2 MiB on x86-64). Because
// pieces are small, all threads end at nearly the same time.
constexpr std::uint64_t kTogether = std::uint64_t{8} << 20;  // bytes
// More threads than this would wait for the kernel's locks and for the memory
// bus.
constexpr std::size_t kMostThreads = 4;

}  // namespace

void PutPagesUnder(void* start, std::uint64_t bytes) {
  if (bytes < kLeast) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(start);
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t end = (begin + bytes) / page * page;
  (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  std::atomic<std::uint64_t> next = first / kTogether;
  const auto put = [&next, first, end] {
    for (;;) {
      const std::uint64_t piece = next.fetch_add(1) * kTogether;
      if (piece >= end) return;
      const std::uint64_t from = std::max(piece, first);
      const std::uint64_t to = std::min(piece + kTogether, end);
      // Kernels before Linux 5.14 do not know MADV_POPULATE_WRITE.
      if (madvise(reinterpret_cast<void*>(from), to - from,
                  MADV_POPULATE_WRITE) != 0) {
        return;
      }
    }
  };
  RunOnThreads(std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                       kMostThreads),
               put);
}

}  // namespace forebay::base
