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
// becomes private when the user, or the kernel for the user, writes to it; it
// then no longer shows what the daemon writes. A search looks at each page
// table entry; a huge page has a single entry.
//
// Thread-safe for different mappings. Belongs to the process that created it: a
// forked child may only destroy its copy. Owns descriptors, never memory. Never
// blocks. Has no errors: if the kernel refuses a search, every page counts as
// private, which is slow but correct.
class PrivatePages {
 public:
  // Creates an object that uses the cheapest search that works in this process.
  static std::shared_ptr<PrivatePages> Create();
  // Creates an object that uses this search. Returns null if the kernel does
  // not permit it.
  static std::shared_ptr<PrivatePages> Create(PageSearch search);

  PageSearch search() const { return search_; }

  // Prepares a page-aligned mapping; called once, before anyone may write to
  // it. Makes all pages present, so that later reads cause no page faults.
  void Watch(void* memory, size_t bytes);

  // Drops the private pages of a watched mapping, which then shows the shared
  // content again. Nobody may be using it.
  void Drop(void* memory, size_t bytes);

 private:
  explicit PrivatePages(PageSearch search) : search_(search) {}

  // Returns nullopt if the kernel refuses the search.
  std::optional<PageRuns> Find(PageRun range) const;

  const PageSearch search_;
  const PageTable table_;
};

// Makes every page private with its present content. Later writes of the daemon
// change it neither here nor in children that are forked later. Other threads
// may write to the memory meanwhile. Thread-safe. `memory` must be
// page-aligned.
void MakePagesPrivate(void* memory, size_t bytes);

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_PRIVATE_PAGES_H_
