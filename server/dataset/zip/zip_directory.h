#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_DIRECTORY_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/zip/directory_entry.h"
#include "server/dataset/zip/zip_end.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// Reads the directory of a zip archive, which lies at its end. It reads nothing
// itself: it says which bytes it must see next, and never asks for the files'
// data. It finds the files that Python's zipfile finds, in the directory's
// order; but backslashes of MS-DOS are slashes, as in Info-ZIP's unzip. Several
// may have one name. As zipfile does, it reads an archive that
// has bytes before it. But it refuses damaged archives, of which zipfile may
// notice nothing until a file is read.
//
// Not thread-safe; owns what it stores; never blocks. Errors name the archive
// and the offset, and end the reading. DATA_LOSS: truncated, damaged, or no zip
// archive; its members cannot lie where it says. UNIMPLEMENTED: a file is
// encrypted, or compressed by another method than deflate; the archive is
// split, or of a later version than 6.3.
class ZipDirectory {
 public:
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes; within the archive
  };

  // `object` is the archive's name, `size` its bytes.
  static absl::StatusOr<ZipDirectory> Create(std::string object,
                                             std::uint64_t size);

  // Returns what it must see next, at most 1 MiB; nothing if all was read.
  std::optional<Range> wanted() const;

  // Takes `bytes`, which lie at `offset` in the archive. Reads on as far as
  // they reach, and appends the files on the way to `members`. No member
  // reaches into the directory, and all of them together would fit before it.
  absl::Status See(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                   std::vector<ZipMember>* members);

  // Where the directory begins, in bytes, once all was read. All members lie
  // before that.
  std::uint64_t begin() const { return directory_begin_; }

 private:
  // The part of the archive that is wanted.
  enum class Part { kTail, kEnd64, kEntries, kNone };

  ZipDirectory(std::string object, std::uint64_t size);

  absl::Status SeeTail(absl::Span<const std::uint8_t> tail);
  absl::Status SeeLocator(std::uint64_t end64_offset, std::uint64_t locator);
  absl::Status SeeEnd64(absl::Span<const std::uint8_t> record);
  absl::Status Begin(const ZipEnd& end, std::uint64_t directory_end);
  absl::Status SeeEntries(absl::Span<const std::uint8_t> bytes,
                          std::vector<ZipMember>* members);
  absl::StatusOr<ZipMember> MemberOf(const DirectoryEntry& entry);
  absl::Status Finish();

  std::string object_;
  std::uint64_t size_;
  Part part_ = Part::kTail;
  std::uint64_t at_;  // offset of what is wanted
  // Bytes behind the end record and its comment, which belong to neither.
  std::uint64_t behind_ = 0;
  // Where the larger end record lies, by the writer's count; and the offset of
  // its locator.
  std::uint64_t said_end64_ = 0;
  std::uint64_t locator_ = 0;
  ZipEnd end_;
  std::uint64_t directory_begin_ = 0;
  std::uint64_t directory_end_ = 0;
  std::uint64_t entries_ = 0;  // that were read
  std::uint64_t taken_ = 0;    // bytes of their members, at least
};

// Returns the most memory that the files of so many bytes of a directory take.
std::uint64_t MemoryOfMembers(std::uint64_t bytes);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_DIRECTORY_H_
