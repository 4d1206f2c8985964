#include "server/storage/local/direct_files.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace forebay::storage::local {
namespace {

// The size of a page of memory, in bytes. No file system in use asks for a
// larger alignment.
constexpr std::uint64_t kPage = 4096;
// The shortest read that goes past the cache. Alignment adds less than a page
// at each end; from this length on, HeldBytes covers these bytes.
constexpr std::uint64_t kMinLength = 16 << 10;

}  // namespace

bool WorthReadingDirectly(std::uint64_t offset, std::uint64_t length) {
  return length >= kMinLength && offset <= INT64_MAX - length - kPage;
}

DirectRange AlignedRange(std::uint64_t offset, std::uint64_t length,
                         std::uint64_t alignment) {
  const std::uint64_t begin = offset / alignment * alignment;
  const std::uint64_t end =
      (offset + length + alignment - 1) / alignment * alignment;
  return {begin, end - begin, alignment};
}

std::uint64_t DirectFiles::Switch(int file, std::uint64_t device) {
  const std::uint64_t alignment = AlignmentOf(file, device);
  // A file may refuse although its file system permits such reads.
  if (alignment == 0 || fcntl(file, F_SETFL, O_DIRECT) != 0) return 0;
  return alignment;
}

std::uint64_t DirectFiles::AlignmentOf(int file, std::uint64_t device) {
  if (const auto entry = alignments_.find(device); entry != alignments_.end())
    return entry->second;
  struct statx stat = {};
  // Kernels before 6.1 do not tell the alignment, and a page suits them all.
  std::uint64_t alignment = kPage;
  // The call bypasses the C library, whose header for statx cannot be included
  // together with the kernel's.
  if (syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stat) == 0 &&
      (stat.stx_mask & STATX_DIOALIGN) != 0) {
    alignment = std::max(stat.stx_dio_offset_align, stat.stx_dio_mem_align);
    if (stat.stx_dio_offset_align == 0 || kPage % alignment != 0) alignment = 0;
  }
  alignments_[device] = alignment;
  return alignment;
}

}  // namespace forebay::storage::local
