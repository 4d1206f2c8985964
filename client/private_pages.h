#ifndef FOREBAY_CLIENT_PRIVATE_PAGES_H_
#define FOREBAY_CLIENT_PRIVATE_PAGES_H_

#include <cstddef>

namespace forebay::client {

// The pages of a MAP_PRIVATE mapping of shared memory that a write has made
// this process's own: they no longer show what the daemon writes. All functions
// take page-aligned memory, are thread-safe and do not wait for anyone.

// How private pages are found.
enum class PageSearch {
  kScan,     // ioctl PAGEMAP_SCAN, Linux 6.7 and later
  kPagemap,  // read /proc/self/pagemap
  kNone,     // not at all: every page counts as private
};

// Drops the private pages, so that the memory shows the shared content again.
// Falls back to the next kind of search where `search` is not available.
// Returns the kind that was used.
PageSearch DropPrivatePages(void* memory, size_t bytes,
                            PageSearch search = PageSearch::kScan);

// Makes every page private, keeping its content, so that it stays as it is
// whatever the daemon writes, here and in children forked from now on. Other
// threads may write to the memory meanwhile.
void MakePagesPrivate(void* memory, size_t bytes);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_PRIVATE_PAGES_H_
