#ifndef FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_

#include <cstdint>
#include <unordered_map>

namespace forebay::storage::local {

// The part of a file that is read past the page cache to get a range of the
// file.
struct DirectRange {
  // Where the part begins and how long it is, in bytes: both multiples of
  // `alignment`. The part may reach beyond the file's end.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t alignment = 1;
};

// Whether it pays to read a range of this offset and length past the page
// cache.
bool WorthReadingDirectly(std::uint64_t offset, std::uint64_t length);

// Returns the smallest part with that alignment that contains the range.
DirectRange AlignedRange(std::uint64_t offset, std::uint64_t length,
                         std::uint64_t alignment);

// Finds out which files can be read past the page cache (O_DIRECT), straight
// into page-aligned memory, and with which alignment.
//
// Not thread-safe. This object remembers the alignment of each device. The
// caller owns the files. Does not block. No errors: files that cannot be read
// in this way are read through the page cache.
class DirectFiles {
 public:
  // Switches the file, which lies on `device`, to O_DIRECT. Returns the
  // alignment, in bytes, that its reads then need. Returns 0, and leaves the
  // file as it was, if the file cannot be read in this way.
  std::uint64_t Switch(int file, std::uint64_t device);

 private:
  // Returns the alignment, or 0 if the file system does not support O_DIRECT.
  std::uint64_t AlignmentOf(int file, std::uint64_t device);

  // The alignment in bytes, by device.
  std::unordered_map<std::uint64_t, std::uint64_t> alignments_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
