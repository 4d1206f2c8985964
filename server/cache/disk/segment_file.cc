#include "server/cache/disk/segment_file.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/cache/disk/segment_format.h"

namespace forebay::cache::disk {
namespace {

constexpr std::align_val_t kAlignment{kPageBytes};

// Returns the error of a read or write that the disk refused.
absl::Status Refused(const SegmentFile& file, const std::string& why) {
  return absl::UnavailableError(
      absl::StrCat(SegmentName(file.serial), ": ", why));
}

// Moves `total` bytes by as many calls of `move` as it takes. `move` returns a
// number of bytes, or minus errno.
template <typename Move>
absl::Status MoveAll(const SegmentFile& file, std::size_t total, Move move) {
  for (std::size_t done = 0; done < total;) {
    const ssize_t moved = move(done);
    if (moved == -EINTR) continue;
    if (moved < 0) {
      return Refused(file, std::strerror(static_cast<int>(-moved)));
    }
    // If only a part of a page was moved, the whole page is moved again:
    // without the page cache, a call must begin at a page boundary.
    const std::size_t pages = moved / kPageBytes * kPageBytes;
    if (pages == 0) return Refused(file, "the disk moves no whole page");
    done += pages;
  }
  return absl::OkStatus();
}

}  // namespace

PageBuffer::PageBuffer(std::size_t bytes)
    : span_(static_cast<std::uint8_t*>(::operator new(bytes, kAlignment)),
            bytes) {}

PageBuffer::~PageBuffer() { ::operator delete(span_.data(), kAlignment); }

absl::Status ReadPages(Volume& volume, const SegmentFile& file,
                       absl::Span<std::uint8_t> pages, std::uint64_t offset) {
  return MoveAll(file, pages.size(), [&](std::size_t done) {
    return volume.Pread(file.fd.get(), pages.data() + done, pages.size() - done,
                        static_cast<off_t>(offset + done));
  });
}

absl::Status WritePages(Volume& volume, const SegmentFile& file,
                        absl::Span<const std::uint8_t> pages,
                        std::uint64_t offset) {
  return MoveAll(file, pages.size(), [&](std::size_t done) {
    return volume.Pwrite(file.fd.get(), pages.data() + done,
                         pages.size() - done,
                         static_cast<off_t>(offset + done));
  });
}

}  // namespace forebay::cache::disk
