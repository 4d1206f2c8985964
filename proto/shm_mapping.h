#ifndef FOREBAY_PROTO_SHM_MAPPING_H_
#define FOREBAY_PROTO_SHM_MAPPING_H_

// Mapping shared memory at addresses that allow for huge pages.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace forebay::proto {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Maps the first `bytes` of `fd`, like mmap(2), and returns the address;
// MAP_FAILED on error. Memory that is large enough for a huge page gets an
// address that is a multiple of one: the kernel maps huge pages only where
// address and offset agree. Thread-safe.
inline void* MapShared(std::size_t bytes, int protection, int flags, int fd) {
  if (bytes < kHugePageBytes)
    return mmap(nullptr, bytes, protection, flags, fd, 0);
  // Reserves addresses for one huge page more than the memory needs, so that
  // they contain an aligned range. The memory is mapped there, and the
  // addresses around it are given back.
  const std::size_t taken = bytes + kHugePageBytes;
  void* const reserved =
      mmap(nullptr, taken, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  const auto first = reinterpret_cast<std::uintptr_t>(reserved);
  const std::size_t before = -first % kHugePageBytes;
  auto* const start = static_cast<std::uint8_t*>(reserved) + before;
  void* const memory = mmap(start, bytes, protection, flags | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) {
    munmap(reserved, taken);
    return MAP_FAILED;
  }
  if (before > 0) munmap(reserved, before);
  // The kernel rounds the mapped size up to whole pages, so the addresses
  // behind the memory begin at the next page.
  constexpr std::size_t kPage = 4096;
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  munmap(start + mapped, taken - before - mapped);
  return memory;
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_SHM_MAPPING_H_
