#include "client/private_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "client/fd.h"

namespace forebay::client {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

// More runs of private pages than this, and the whole is dropped at once.
constexpr size_t kMaxRuns = 64;

// PAGEMAP_SCAN as in linux/fs.h of Linux 6.7, which older headers lack.
struct PageRegion {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};
struct PagemapScan {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t vec;
  std::uint64_t vec_len;
  std::uint64_t max_pages;
  std::uint64_t category_inverted;
  std::uint64_t category_mask;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask;
};
static_assert(sizeof(PagemapScan) == 96);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, PagemapScan);
constexpr std::uint64_t kIsFile = 1 << 2;
constexpr std::uint64_t kIsPresent = 1 << 3;
constexpr std::uint64_t kIsSwapped = 1 << 4;

// Bits of an entry of /proc/self/pagemap.
constexpr std::uint64_t kEntryFile = std::uint64_t{1} << 61;
constexpr std::uint64_t kEntrySwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kEntryPresent = std::uint64_t{1} << 63;

struct Run {
  std::uint64_t start;  // addresses
  std::uint64_t end;
};
using Runs = std::vector<Run>;

// Both searches: the runs of private pages, at most kMaxRuns + 1; nullopt where
// the kernel refuses.
std::optional<Runs> ScanRuns(int pagemap, std::uint64_t start,
                             std::uint64_t end) {
  PageRegion regions[kMaxRuns + 1];
  PagemapScan scan = {};
  scan.size = sizeof scan;
  scan.start = start;
  scan.end = end;
  scan.vec = reinterpret_cast<std::uint64_t>(regions);
  scan.vec_len = std::size(regions);
  scan.category_inverted = kIsFile;
  scan.category_mask = kIsFile;
  scan.category_anyof_mask = kIsPresent | kIsSwapped;
  scan.return_mask = kIsFile;
  const int count = ioctl(pagemap, kPagemapScan, &scan);
  if (count < 0) return std::nullopt;
  Runs runs;
  for (int i = 0; i < count; ++i)
    runs.push_back({regions[i].start, regions[i].end});
  return runs;
}

std::optional<Runs> ReadRuns(int pagemap, std::uint64_t start,
                             std::uint64_t end) {
  Runs runs;
  std::uint64_t entries[1024];
  for (std::uint64_t at = start; at < end && runs.size() <= kMaxRuns;) {
    const std::uint64_t pages =
        std::min<std::uint64_t>((end - at) / kPageBytes, std::size(entries));
    const ssize_t want = static_cast<ssize_t>(pages * sizeof entries[0]);
    if (pread(pagemap, entries, want,
              static_cast<off_t>(at / kPageBytes * sizeof entries[0])) != want)
      return std::nullopt;
    for (std::uint64_t i = 0; i < pages; ++i, at += kPageBytes) {
      if ((entries[i] & kEntryFile) != 0 ||
          (entries[i] & (kEntryPresent | kEntrySwapped)) == 0)
        continue;
      if (!runs.empty() && runs.back().end == at)
        runs.back().end += kPageBytes;
      else
        runs.push_back({at, at + kPageBytes});
    }
  }
  return runs;
}

void Drop(std::uint64_t start, std::uint64_t end) {
  madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
}

// A write that changes nothing, and that no compiler may leave out.
void TouchForWriting(std::uint8_t* byte) {
#if defined(__x86_64__)
  asm volatile("lock; orb $0, %0" : "+m"(*byte) : : "memory", "cc");
#else
  std::uint8_t value = __atomic_load_n(byte, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(byte, &value, value, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
#endif
}

}  // namespace

PageSearch DropPrivatePages(void* memory, size_t bytes, PageSearch search) {
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t end = start + bytes;
  std::optional<Runs> runs;
  if (search != PageSearch::kNone) {
    // Opened each time: an inherited descriptor shows the parent's pages.
    const Fd pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (pagemap && search == PageSearch::kScan)
      runs = ScanRuns(pagemap.get(), start, end);
    if (pagemap && !runs && sysconf(_SC_PAGESIZE) == kPageBytes) {
      search = PageSearch::kPagemap;
      runs = ReadRuns(pagemap.get(), start, end);
    }
    if (!runs) search = PageSearch::kNone;
  }
  if (!runs || runs->size() > kMaxRuns) {
    Drop(start, end);
    return search;
  }
  for (const Run& run : *runs) Drop(run.start, run.end);
  return search;
}

void MakePagesPrivate(void* memory, size_t bytes) {
  auto* const first = static_cast<std::uint8_t*>(memory);
  for (size_t offset = 0; offset < bytes; offset += kPageBytes)
    TouchForWriting(first + offset);
}

}  // namespace forebay::client
