#ifndef FOREBAY_PROTO_SHM_MAPPING_H_
#define FOREBAY_PROTO_SHM_MAPPING_H_

// Mapping shared memory so that its huge pages can be mapped as such.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace forebay::proto {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// As mmap of a whole descriptor; memory that can hold a huge page gets an
// address that one divides. MAP_FAILED on error.
inline void* MapShared(std::size_t bytes, int protection, int flags, int fd) {
  if (bytes < kHugePageBytes)
    return mmap(nullptr, bytes, protection, flags, fd, 0);
  // More addresses than needed are taken, and those around the middle given
  // back.
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
  // Whole pages follow: the size of what is mapped is rounded up to them.
  constexpr std::size_t kPage = 4096;
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  munmap(start + mapped, taken - before - mapped);
  return memory;
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_SHM_MAPPING_H_
