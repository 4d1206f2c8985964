#ifndef FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_

#include <cstdint>
#include <unordered_map>

namespace forebay::storage::local {

// Which part of a file is read for a range of it, past the page cache.
struct DirectRange {
  std::uint64_t offset = 0;  // both multiples of `alignment`
  std::uint64_t length = 0;  // may reach beyond the file's end
  std::uint64_t alignment = 1;
};

// Whether reading so many bytes from there past the page cache is worth it.
bool WorthReadingDirectly(std::uint64_t offset, std::uint64_t length);

// What to read for such a range.
DirectRange AlignedRange(std::uint64_t offset, std::uint64_t length,
                         std::uint64_t alignment);

// Knows which files can be read past the page cache (O_DIRECT), straight into
// page-aligned memory, and how.
//
// Not thread-safe. Remembers what it learned of file systems; the files are the
// caller's. Does not block. Has no errors: what cannot be read so is read
// otherwise.
class DirectFiles {
 public:
  // Switches the file, which lies on `device`, to such reads. The alignment
  // that they need; 0: it cannot be read so, and stays as it was.
  std::uint64_t Switch(int file, std::uint64_t device);

 private:
  // 0: no such reads.
  std::uint64_t AlignmentOf(int file, std::uint64_t device);

  std::unordered_map<std::uint64_t, std::uint64_t> alignments_;  // by device
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
