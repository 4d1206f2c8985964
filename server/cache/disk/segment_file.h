#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// An open segment. Whoever holds it may read it, also when its name is gone.
struct SegmentFile {
  base::Fd fd;
  std::uint64_t serial = 0;
  std::uint64_t bytes = 0;  // of the file
};

// Whole pages, for reads and writes past the page cache. Aborts where memory is
// spent, as `new` would.
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

// All of `pages`, whole pages, at `offset`, as often as it takes. Block for the
// disk. UNAVAILABLE: the disk refused, or gave or took less; says why.
absl::Status ReadPages(Volume& volume, const SegmentFile& file,
                       absl::Span<std::uint8_t> pages, std::uint64_t offset);
absl::Status WritePages(Volume& volume, const SegmentFile& file,
                        absl::Span<const std::uint8_t> pages,
                        std::uint64_t offset);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FILE_H_
