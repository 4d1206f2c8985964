#include "client/shm/page_table.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace forebay::client::shm {
namespace {

// The argument of the ioctl PAGEMAP_SCAN, as linux/fs.h of Linux 6.7 has it
// (struct pm_scan_arg and struct page_region); older headers lack it. See
// Documentation/admin-guide/mm/pagemap.rst of the kernel.
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

// Bits of a 64-bit entry of /proc/self/pagemap (pagemap.rst). Bit 61 says that
// the page belongs to a file or to shared memory; a private copy lacks this
// bit.
constexpr std::uint64_t kEntryFile = std::uint64_t{1} << 61;
constexpr std::uint64_t kEntrySwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kEntryPresent = std::uint64_t{1} << 63;

// Runs a scan; the caller has set the categories in `scan`. Asks for one region
// more than kMaxPageRuns, so that the caller sees whether there are too many.
std::optional<PageRuns> Scan(int fd, PageRun range, PagemapScan scan) {
  PageRegion regions[kMaxPageRuns + 1];
  scan.size = sizeof scan;
  scan.start = range.start;
  scan.end = range.end;
  scan.vec = reinterpret_cast<std::uint64_t>(regions);
  scan.vec_len = std::size(regions);
  const int count = ioctl(fd, kPagemapScan, &scan);
  if (count < 0) return std::nullopt;
  PageRuns runs;
  runs.reserve(count);
  for (int i = 0; i < count; ++i)
    runs.push_back({regions[i].start, regions[i].end});
  return runs;
}

}  // namespace

void DropPages(PageRun pages) {
  auto* const memory = reinterpret_cast<void*>(pages.start);
  const size_t bytes = pages.end - pages.start;
  if (madvise(memory, bytes, MADV_DONTNEED) == 0) return;
  munlock(memory, bytes);
  madvise(memory, bytes, MADV_DONTNEED);
}

PageTable::PageTable()
    : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

std::optional<PageRuns> PageTable::ScanPrivate(PageRun range) const {
  // Inverting the category makes the mask match pages that are not the file's.
  // The pages must also be present or swapped: pages that were never touched
  // are not private.
  PagemapScan scan = {};
  scan.category_inverted = kIsFile;
  scan.category_mask = kIsFile;
  scan.category_anyof_mask = kIsPresent | kIsSwapped;
  scan.return_mask = kIsFile;
  return Scan(fd_.get(), range, scan);
}

std::optional<PageRuns> PageTable::ReadPrivate(PageRun range) const {
  if (sysconf(_SC_PAGESIZE) != kPageBytes) return std::nullopt;
  PageRuns runs;
  std::uint64_t entries[1024];
  for (std::uint64_t at = range.start;
       at < range.end && runs.size() <= kMaxPageRuns;) {
    const std::uint64_t pages = std::min<std::uint64_t>(
        (range.end - at) / kPageBytes, std::size(entries));
    const ssize_t want = static_cast<ssize_t>(pages * sizeof entries[0]);
    if (pread(fd_.get(), entries, want,
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

}  // namespace forebay::client::shm
