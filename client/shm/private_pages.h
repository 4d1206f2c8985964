#ifndef FOREBAY_CLIENT_SHM_PRIVATE_PAGES_H_
#define FOREBAY_CLIENT_SHM_PRIVATE_PAGES_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "client/shm/page_table.h"

namespace forebay::client::shm {

// The ways to find private pages, the cheapest first.
enum class PageSearch {
  kScan,     // ioctl PAGEMAP_SCAN, Linux 6.7
  kPagemap,  // read /proc/self/pagemap
  kNone,     // no search: every page counts as private
};

// Drops the private pages of MAP_PRIVATE mappings of shared memory. A page
// becomes private when the user writes to it, or the kernel does so for the
// user. A private page no longer shows what the daemon writes. A search looks
// at each page table entry; a huge page has a single entry.
//
// Thread-safe for different mappings. Belongs to the process that created it: a
// forked child may only destroy its copy. Owns descriptors, never memory. Never
// blocks. Has no errors: if the kernel refuses a search, every page counts as
// private, which is slow but correct.
class PrivatePages {
 public:
  // Creates an object that uses the cheapest search that works in this process.
  static std::shared_ptr<PrivatePages> Create();
  // Creates an object that uses `search`. Returns null if the kernel does not
  // permit that search.
  static std::shared_ptr<PrivatePages> Create(PageSearch search);

  PageSearch search() const { return search_; }

  // Prepares a page-aligned mapping. Called once for each mapping, before
  // anyone may write to the mapping. Makes all pages present, so that later
  // reads cause no page faults.
  void Watch(void* memory, size_t bytes);

  // Drops the private pages of a watched mapping, which then shows the shared
  // content again. No thread may use the mapping meanwhile.
  void Drop(void* memory, size_t bytes);

 private:
  explicit PrivatePages(PageSearch search) : search_(search) {}

  // Returns nullopt if the kernel refuses the search.
  std::optional<PageRuns> Find(PageRun range) const;

  const PageSearch search_;
  const PageTable table_;
};

// Makes every page of `memory` private with its present content. Later writes
// of the daemon no longer change the content, neither in this process nor in
// children that are forked later. Other threads may write to the memory
// meanwhile. Thread-safe. `memory` must be page-aligned.
void MakePagesPrivate(void* memory, size_t bytes);

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_PRIVATE_PAGES_H_
