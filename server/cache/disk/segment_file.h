#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// An open segment. Its owners can read it even after its file was removed.
struct SegmentFile {
  base::Fd fd;
  std::uint64_t serial = 0;
  std::uint64_t bytes = 0;  // of the file
};

// Owns memory of whole pages, aligned to a page, for reads and writes that
// bypass the page cache. If memory is short, the constructor throws as `new`
// does, which ends the process.
class PageBuffer {
 public:
  explicit PageBuffer(std::size_t bytes);
  ~PageBuffer();
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;

  absl::Span<std::uint8_t> span() const { return span_; }

 private:
  absl::Span<std::uint8_t> span_;
};

// Reads all of `pages` from `offset` on, in as many system calls as it takes.
// The size of `pages` and `offset` are multiples of a page. Thread-safe. Blocks
// for the disk. UNAVAILABLE: the disk fails, or moves less than a page at a
// time; the message has the reason.
absl::Status ReadPages(Volume& volume, const SegmentFile& file,
                       absl::Span<std::uint8_t> pages, std::uint64_t offset);
// Writes all of `pages` from `offset` on, with the same contract as ReadPages.
absl::Status WritePages(Volume& volume, const SegmentFile& file,
                        absl::Span<const std::uint8_t> pages,
                        std::uint64_t offset);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
