#ifndef FOREBAY_CLIENT_PAGE_TABLE_H_
#define FOREBAY_CLIENT_PAGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/fd.h"

namespace forebay::client {

inline constexpr std::uint64_t kPageBytes = 4096;

// Addresses of pages that follow one another.
struct PageRun {
  std::uint64_t start;
  std::uint64_t end;
};
using PageRuns = std::vector<PageRun>;

// A search that finds more runs than this may end early.
inline constexpr size_t kMaxPageRuns = 64;

// The pages of `memory`, which is page-aligned.
inline PageRun PagesOf(const void* memory, size_t bytes) {
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  return {start, start + bytes};
}

// Forgets the process's own copies of the pages. They are unlocked if they were
// locked.
void ForgetPages(PageRun pages);

// This process's page table, as /proc/self/pagemap shows it.
//
// Thread-safe. Belongs to the process that opened it: a forked child sees its
// parent's pages. Owns the descriptor. Does not wait. Errors: a search returns
// nullopt where the kernel refuses it.
class PageTable {
 public:
  PageTable();

  // Pages that are this process's own, by the ioctl PAGEMAP_SCAN.
  std::optional<PageRuns> ScanPrivate(PageRun range) const;
  // As ScanPrivate, by reading; for pages of kPageBytes.
  std::optional<PageRuns> ReadPrivate(PageRun range) const;

 private:
  Fd fd_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_PAGE_TABLE_H_
