#include "client/shm/private_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "proto/fd.h"

namespace forebay::client::shm {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14

// Tests, on two pages of its own, whether `pages` finds private pages: a page
// that was written must show the shared content after Drop. Create has checked
// only that the kernel permits the search.
bool Works(PrivatePages& pages) {
  constexpr size_t kBytes = 2 * kPageBytes;
  const proto::Fd fd(memfd_create("forebay-trial", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), kBytes) != 0) return false;
  void* const shared =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  void* const own =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd.get(), 0);
  bool good = false;
  if (shared != MAP_FAILED && own != MAP_FAILED) {
    pages.Watch(own, kBytes);
    std::memset(own, 1, 1);
    std::memset(shared, 2, kBytes);
    pages.Drop(own, kBytes);
    good = std::memcmp(own, shared, kBytes) == 0;
  }
  if (shared != MAP_FAILED) munmap(shared, kBytes);
  if (own != MAP_FAILED) munmap(own, kBytes);
  return good;
}

PageSearch FirstThatWorks() {
  for (const PageSearch search : {PageSearch::kScan, PageSearch::kPagemap}) {
    const auto pages = PrivatePages::Create(search);
    if (pages != nullptr && Works(*pages)) return search;
  }
  return PageSearch::kNone;
}

// Writes a byte without changing it, so that the kernel copies its page. The
// write is atomic, because another thread may write to the byte at the same
// time. The compiler must not omit the write.
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

std::shared_ptr<PrivatePages> PrivatePages::Create() {
  static const PageSearch search = FirstThatWorks();
  std::shared_ptr<PrivatePages> pages = Create(search);
  // Descriptors may have run out since the search was chosen.
  return pages != nullptr ? pages : Create(PageSearch::kNone);
}

std::shared_ptr<PrivatePages> PrivatePages::Create(PageSearch search) {
  std::shared_ptr<PrivatePages> pages(new PrivatePages(search));
  // A search of an empty range succeeds if the kernel permits searches.
  if (search != PageSearch::kNone && !pages->Find(PagesOf(nullptr, 0)))
    return nullptr;
  return pages;
}

void PrivatePages::Watch(void* memory, size_t bytes) {
  // With mlockall(MCL_FUTURE), the mapping begins with private pages.
  DropPages(PagesOf(memory, bytes));
  madvise(memory, bytes, kPopulateRead);
}

void PrivatePages::Drop(void* memory, size_t bytes) {
  const PageRun range = PagesOf(memory, bytes);
  std::optional<PageRuns> runs = Find(range);
  if (!runs || runs->size() > kMaxPageRuns) runs = PageRuns{range};
  for (const PageRun& run : *runs) DropPages(run);
}

std::optional<PageRuns> PrivatePages::Find(PageRun range) const {
  switch (search_) {
    case PageSearch::kScan:
      return table_.ScanPrivate(range);
    case PageSearch::kPagemap:
      return table_.ReadPrivate(range);
    case PageSearch::kNone:
      break;
  }
  return std::nullopt;
}

void MakePagesPrivate(void* memory, size_t bytes) {
  auto* const first = static_cast<std::uint8_t*>(memory);
  for (size_t offset = 0; offset < bytes; offset += kPageBytes)
    TouchForWriting(first + offset);
}

}  // namespace forebay::client::shm
