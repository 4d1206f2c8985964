#ifndef FOREBAY_CLIENT_SHM_PAGE_TABLE_H_
#define FOREBAY_CLIENT_SHM_PAGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/fd.h"

namespace forebay::client::shm {

inline constexpr std::uint64_t kPageBytes = 4096;

// Addresses of consecutive pages.
struct PageRun {
  std::uint64_t start;
  std::uint64_t end;
};
using PageRuns = std::vector<PageRun>;

// A search that finds more runs than this may end early.
inline constexpr size_t kMaxPageRuns = 64;

// The pages of `memory`, which must be page-aligned.
inline PageRun PagesOf(const void* memory, size_t bytes) {
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  return {start, start + bytes};
}

// Drops this process's private copies of the pages. Unlocks locked pages.
void DropPages(PageRun pages);

// This process's page table, read from /proc/self/pagemap.
//
// Thread-safe. Belongs to the process that opened it: a forked child sees its
// parent's pages. Owns the descriptor. Never blocks. Errors: a search returns
// nullopt if the kernel refuses it.
class PageTable {
 public:
  PageTable();

  // Finds private pages by the ioctl PAGEMAP_SCAN.
  std::optional<PageRuns> ScanPrivate(PageRun range) const;
  // Finds private pages by reading; for pages of kPageBytes.
  std::optional<PageRuns> ReadPrivate(PageRun range) const;

 private:
  proto::Fd fd_;
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_PAGE_TABLE_H_
