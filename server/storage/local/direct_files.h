#ifndef FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_

#include <cstdint>
#include <unordered_map>

namespace forebay::storage::local {

// The part of a file that is read for a range of it, past the page cache.
struct DirectRange {
  std::uint64_t offset = 0;  // both multiples of `alignment`
  std::uint64_t length = 0;  // may reach beyond the file's end
  std::uint64_t alignment = 1;
};

// Returns whether it pays to read such a range past the page cache.
bool WorthReadingDirectly(std::uint64_t offset, std::uint64_t length);

// Returns the part to read for such a range.
DirectRange AlignedRange(std::uint64_t offset, std::uint64_t length,
                         std::uint64_t alignment);

// Finds out which files can be read past the page cache (O_DIRECT), straight
// into page-aligned memory, and how.
//
// Not thread-safe. Remembers what it learned of file systems; the caller owns
// the files. Does not block. No errors: other files are read in another way.
class DirectFiles {
 public:
  // Switches the file, which lies on `device`, to such reads. Returns the
  // alignment that they need, or 0 if the file cannot be read so; then it stays
  // as it was.
  std::uint64_t Switch(int file, std::uint64_t device);

 private:
  // Returns 0 if there are no such reads.
  std::uint64_t AlignmentOf(int file, std::uint64_t device);

  std::unordered_map<std::uint64_t, std::uint64_t> alignments_;  // by device
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
