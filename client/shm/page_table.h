#ifndef FOREBAY_CLIENT_SHM_PAGE_TABLE_H_
#define FOREBAY_CLIENT_SHM_PAGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/fd.h"

namespace forebay::client::shm {

inline constexpr std::uint64_t kPageBytes = 4096;

// The addresses [start, end) of consecutive pages.
struct PageRun {
  std::uint64_t start;
  std::uint64_t end;
};
using PageRuns = std::vector<PageRun>;

// The largest number of runs that a search needs to find. If there are more,
// the search may end early, and the caller drops all pages, which costs less
// than many system calls.
inline constexpr size_t kMaxPageRuns = 64;

// Returns the pages of `memory`, which must be page-aligned.
inline PageRun PagesOf(const void* memory, size_t bytes) {
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  return {start, start + bytes};
}

// Drops this process's private copies of the pages. If the kernel refuses
// because pages are locked, unlocks the pages first.
void DropPages(PageRun pages);

// This process's page table, read from /proc/self/pagemap.
//
// Thread-safe. Only the process that opened it may use it: a forked child would
// see its parent's pages. Owns the descriptor. Never blocks. Errors: a search
// returns nullopt if the kernel refuses the search.
class PageTable {
 public:
  PageTable();

  // Finds private pages by the ioctl PAGEMAP_SCAN of Linux 6.7, which looks at
  // each page table entry once.
  std::optional<PageRuns> ScanPrivate(PageRun range) const;
  // Finds private pages by reading 8 bytes for each page, on machines whose
  // pages have kPageBytes.
  std::optional<PageRuns> ReadPrivate(PageRun range) const;

 private:
  proto::Fd fd_;
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_PAGE_TABLE_H_
