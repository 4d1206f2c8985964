#ifndef FOREBAY_CLIENT_PRIVATE_PAGES_H_
#define FOREBAY_CLIENT_PRIVATE_PAGES_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "client/page_table.h"

namespace forebay::client {

// How private pages are found, the cheapest first.
enum class PageSearch {
  kScan,     // ioctl PAGEMAP_SCAN, Linux 6.7
  kPagemap,  // read /proc/self/pagemap
  kNone,     // not at all: every page counts as private
};

// Drops the private pages of MAP_PRIVATE mappings of shared memory: those that
// a write, by the user or by the kernel for the user, has made this process's
// own. They no longer show what the daemon writes. A search looks at each page
// table entry, of which a huge page has one.
//
// Thread-safe for mappings that differ. Belongs to the process that made it: a
// forked child may only destroy its copy. Owns descriptors, never memory. Does
// not wait for anyone. No errors: where the kernel refuses, every page counts
// as private, which is slow and right.
class PrivatePages {
 public:
  // By the first kind of search that has stood a trial in this process.
  static std::shared_ptr<PrivatePages> Create();
  // Null if the kernel does not grant this kind.
  static std::shared_ptr<PrivatePages> Create(PageSearch search);

  PageSearch search() const { return search_; }

  // To be called once for a mapping, page-aligned, before anyone may write to
  // it. Makes its pages present.
  void Watch(void* memory, size_t bytes);

  // Drops the private pages of a watched mapping that nobody uses, so that it
  // shows the shared content again.
  void Drop(void* memory, size_t bytes);

 private:
  explicit PrivatePages(PageSearch search) : search_(search) {}

  // nullopt: the search was refused.
  std::optional<PageRuns> Find(PageRun range) const;

  const PageSearch search_;
  const PageTable table_;
};

// Makes every page private, keeping its content, so that it stays as it is
// whatever the daemon writes, here and in children forked from now on. Other
// threads may write to the memory meanwhile. Thread-safe; takes page-aligned
// memory.
void MakePagesPrivate(void* memory, size_t bytes);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_PRIVATE_PAGES_H_
