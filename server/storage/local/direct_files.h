#ifndef FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace forebay::storage::local {

// Which part of a file is read for a range of it, past the page cache.
struct DirectRange {
  std::uint64_t offset = 0;  // both multiples of the file system's alignment
  std::uint64_t length = 0;  // may reach beyond the file's end
  std::uint64_t alignment = 0;
};

// Knows which files can be read past the page cache (O_DIRECT), straight into
// page-aligned memory, and how.
//
// Not thread-safe. Remembers what it learned of file systems; the files are the
// caller's. Does not block. Has no errors: what cannot be read so is read
// otherwise.
class DirectFiles {
 public:
  // Switches the file, which lies on `device`, to such reads, and says what to
  // read for `length` bytes from `offset`. Nothing: it cannot be read so, or
  // that would not be worth it.
  std::optional<DirectRange> Prepare(int file, std::uint64_t device,
                                     std::uint64_t offset,
                                     std::uint64_t length);

 private:
  // 0: no such reads.
  std::uint64_t AlignmentOf(int file, std::uint64_t device);

  std::unordered_map<std::uint64_t, std::uint64_t> alignments_;  // by device
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_DIRECT_FILES_H_
