#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// An open segment. Its holders can read it even after its file was removed.
struct SegmentFile {
  base::Fd fd;
  std::uint64_t serial = 0;
  std::uint64_t bytes = 0;  // of the file
};

// Memory of whole pages, for reads and writes that bypass the page cache.
// Aborts if there is no memory, as `new` does.
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

// Read and write all of `pages`, whole pages, at `offset`, in as many system
// calls as it takes. Block for the disk. Return UNAVAILABLE, with the reason,
// if the disk fails or moves less than a page.
absl::Status ReadPages(Volume& volume, const SegmentFile& file,
                       absl::Span<std::uint8_t> pages, std::uint64_t offset);
absl::Status WritePages(Volume& volume, const SegmentFile& file,
                        absl::Span<const std::uint8_t> pages,
                        std::uint64_t offset);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
