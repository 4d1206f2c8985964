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
#include "server/dataset/zip/eocd.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// Parses the central directory of a zip archive (APPNOTE 4.3.6), which lies at
// the archive's end. ZipDirectory reads nothing itself: it says which bytes it
// must see next, and never asks for the files' data. ZipDirectory finds the
// same files as Python's zipfile, in the directory's order; several files may
// have the same name. Like Info-ZIP's unzip, it reads backslashes in names from
// MS-DOS as slashes. Like zipfile, it accepts other bytes before the archive.
// Damaged archives are refused, even if zipfile would not notice the damage
// before a file is read.
//
// Not thread-safe. Owns what it stores. Never blocks. Errors name the archive
// and the offset, and end the parsing. DATA_LOSS: the archive is truncated,
// damaged, or not a zip archive; or its members cannot lie where the directory
// says. UNIMPLEMENTED: a file is encrypted, or compressed by a method other
// than deflate; the archive is split, or needs a version later than 6.3.
class ZipDirectory {
 public:
  // A range of the archive's bytes.
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes; within the archive
  };

  // Begins to parse. `object` is the archive's name, `size` its size in bytes.
  static absl::StatusOr<ZipDirectory> Create(std::string object,
                                             std::uint64_t size);

  // Returns the range that Parse must see next, at most 1 MiB. Returns nothing
  // once the directory is parsed.
  std::optional<Range> wanted() const;

  // Parses `bytes`, which lie at `offset` in the archive, as far as possible.
  // Appends the files found to `members`. No member reaches into the directory,
  // and all members together are no longer than the bytes before the directory.
  absl::Status Parse(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                     std::vector<ZipMember>* members);

  // Returns the offset of the directory, in bytes, once the directory is
  // parsed. All members lie before this offset.
  std::uint64_t begin() const { return directory_begin_; }

 private:
  // The part of the archive that is wanted.
  enum class Part { kTail, kEocd64, kEntries, kNone };

  ZipDirectory(std::string object, std::uint64_t size);

  // Finds the EOCD and its locator in the archive's end.
  absl::Status ParseTail(absl::Span<const std::uint8_t> tail);
  // Begins to read the EOCD64. `eocd64_offset` is the EOCD64's offset according
  // to the locator; this offset is too small if other bytes precede the
  // archive. `locator` is the offset at which the locator was found.
  absl::Status ParseLocator(std::uint64_t eocd64_offset, std::uint64_t locator);
  // Parses `record`, which may be the EOCD64, and begins the directory.
  absl::Status ParseEocd64Record(absl::Span<const std::uint8_t> record);
  // Begins to read the directory, which ends at the offset `directory_end`.
  absl::Status Begin(const Eocd& end, std::uint64_t directory_end);
  // Parses all complete entries in `bytes`.
  absl::Status ParseEntries(absl::Span<const std::uint8_t> bytes,
                            std::vector<ZipMember>* members);
  // Checks an entry, and returns the member that it describes.
  absl::StatusOr<ZipMember> MemberOf(const DirectoryEntry& entry);
  // Checks that there are as many entries as the EOCD or EOCD64 says.
  absl::Status Finish();

  std::string object_;
  std::uint64_t size_;
  Part part_ = Part::kTail;
  std::uint64_t at_;  // offset of the next bytes that are wanted
  // The number of bytes behind the EOCD and its comment.
  std::uint64_t behind_ = 0;
  // The offset that the locator gives for the EOCD64, and the offset at which
  // the locator was found.
  std::uint64_t said_end64_ = 0;
  std::uint64_t locator_ = 0;
  Eocd end_;
  std::uint64_t directory_begin_ = 0;
  std::uint64_t directory_end_ = 0;
  std::uint64_t entries_ = 0;  // parsed so far
  // The least bytes that the members found so far take.
  std::uint64_t member_bytes_ = 0;
};

// Returns an upper bound of the bytes of memory that the members found in
// `bytes` bytes of a directory take.
std::uint64_t MemoryOfMembers(std::uint64_t bytes);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_DIRECTORY_H_
