#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::folder {

// The state of a directory. It changes when anything is added, removed or
// renamed in it.
struct DirectoryStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_nanos = 0;  // since the epoch, as ctime_nanos
  std::int64_t ctime_nanos = 0;

  friend bool operator==(const DirectoryStamp&,
                         const DirectoryStamp&) = default;
};

// A directory of the tree and its own files, which are consecutive samples. Its
// path is relative to the root; the root's is empty. In the names, its files'
// names follow the path.
struct DirectoryRecord {
  static constexpr std::uint32_t kNoLabel = UINT32_MAX;

  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint32_t path_length = 0;  // bytes
  std::uint32_t label = kNoLabel;
  std::uint64_t first_sample = 0;
  DirectoryStamp stamp;
};
static_assert(sizeof(DirectoryRecord) == 56);

// One sample's file. A file of more than 2^48 - 1 bytes is recorded as having
// that many; reading it fails.
class FileRecord {
 public:
  static constexpr std::uint64_t kLargestSize = (std::uint64_t{1} << 48) - 1;
  // Bytes. Objects may have longer names than files.
  static constexpr std::size_t kLongestName = UINT16_MAX;

  FileRecord() = default;
  // `name_offset` counts from the end of the directory's path; `name_length` is
  // at most kLongestName.
  FileRecord(std::uint32_t name_offset, std::size_t name_length,
             std::uint64_t size, std::int64_t mtime_nanos);

  std::uint32_t name_offset() const { return name_offset_; }
  std::uint16_t name_length() const { return name_length_; }
  std::uint64_t size() const {
    return std::uint64_t{size_high_} << 32 | size_low_;
  }
  std::int64_t mtime_nanos() const {
    return static_cast<std::int64_t>(std::uint64_t{mtime_high_} << 32 |
                                     mtime_low_);
  }

 private:
  // In pieces, or alignment would cost four more bytes a sample.
  std::uint32_t name_offset_ = 0;
  std::uint32_t size_low_ = 0;
  std::uint32_t mtime_low_ = 0;
  std::uint32_t mtime_high_ = 0;
  std::uint16_t size_high_ = 0;
  std::uint16_t name_length_ = 0;
};
static_assert(sizeof(FileRecord) == 20);

// The parts of an index.
struct FolderIndexParts {
  // The root comes first. Unless it is the only one, it has no samples of its
  // own. Then come, by label, each class's directory and the directories below
  // it.
  std::vector<DirectoryRecord> directories;
  std::vector<FileRecord> records;
  std::string names;
  // When the scan began, in nanoseconds since the epoch.
  std::int64_t scanned_at_nanos = 0;
  // A digest of the absolute paths by which links were resolved; 0 if there are
  // no links.
  std::uint64_t link_context = 0;
  // Of at least FolderIndex::Bytes.
  base::MemoryReservation reservation = {};
};

// Every sample of a dataset of files: its name, size, time and label, packed.
// Takes 20 bytes a sample and 56 a directory, besides the names; holds a
// reservation for them. Thread-safe; immutable, but for what is known of its
// age. Never blocks.
class FolderIndex {
 public:
  // DATA_LOSS: the parts do not fit together. They may come from a damaged
  // file.
  static absl::StatusOr<std::shared_ptr<const FolderIndex>> Create(
      FolderIndexParts parts);

  std::uint64_t size() const { return parts_.records.size(); }
  std::uint64_t largest_sample() const { return largest_sample_; }
  std::uint64_t smallest_sample() const { return smallest_sample_; }
  // Whether all samples lie right in the root, and have no labels.
  bool is_flat() const { return size() > 0 && parts_.directories.size() == 1; }
  const std::vector<std::string>& classes() const { return classes_; }
  // A digest (XXH3) of all samples' names, sizes, times and labels.
  const Version& version() const { return version_; }
  const FolderIndexParts& parts() const { return parts_; }

  // In the five below, `id` is less than size().
  Sample At(std::uint64_t id) const;
  std::int64_t LabelOf(std::uint64_t id) const { return DirectoryOf(id).label; }
  // Bytes.
  std::uint64_t LengthOf(std::uint64_t id) const {
    return parts_.records[id].size();
  }
  std::int64_t StampOf(std::uint64_t id) const {
    return parts_.records[id].mtime_nanos();
  }
  // The bytes of its path, which At() has as the object's name.
  std::uint64_t PathLengthOf(std::uint64_t id) const {
    const std::uint64_t directory = DirectoryOf(id).path_length;
    return directory + (directory == 0 ? 0 : 1) +
           parts_.records[id].name_length();
  }

  // `directory` is one of parts().directories.
  std::string_view PathOf(const DirectoryRecord& directory) const {
    return std::string_view(parts_.names)
        .substr(directory.path_offset, directory.path_length);
  }

  // When the last scan that found just this began, in nanoseconds since the
  // epoch.
  std::int64_t scanned_at_nanos() const { return scanned_at_nanos_; }
  // A scan that began then found just this, so that it is not stale.
  void Confirm(std::int64_t scanned_at_nanos) const {
    scanned_at_nanos_ = scanned_at_nanos;
    stale_ = false;
  }
  // A read found a file to be another than the index says.
  void MarkStale() const { stale_ = true; }
  bool stale() const { return stale_; }

  // Whether any change since the last scan began must show in some directory's
  // times. That is so if no directory changed so shortly before that a further
  // change could have left the same time.
  bool IsSettled() const;

  // Whether the other has the same samples, in directories of the same stamps.
  bool IsSameAs(const FolderIndex& other) const;

  // Bytes of memory.
  std::uint64_t memory() const;
  // The most bytes of memory that an index takes.
  static std::uint64_t Bytes(std::uint64_t directories, std::uint64_t samples,
                             std::uint64_t names);

 private:
  explicit FolderIndex(FolderIndexParts parts)
      : parts_(std::move(parts)), scanned_at_nanos_(parts_.scanned_at_nanos) {}

  absl::Status CheckDirectories();
  absl::Status CheckRecords();
  // Those of a directory, whose last sample is the one before `end`.
  absl::Status CheckNames(const DirectoryRecord& directory, std::uint64_t end,
                          VersionDigest& digest);
  const DirectoryRecord& DirectoryOf(std::uint64_t id) const;
  // One past the last sample of directory number `directory`.
  std::uint64_t EndOf(std::size_t directory) const;
  std::string_view NameOf(const DirectoryRecord& directory,
                          const FileRecord& record) const;

  FolderIndexParts parts_;
  std::vector<std::string> classes_;
  std::uint64_t largest_sample_ = 0;
  std::uint64_t smallest_sample_ = 0;
  std::int64_t last_change_nanos_ = 0;  // never before the epoch
  Version version_ = {};
  mutable std::atomic<std::int64_t> scanned_at_nanos_;
  mutable std::atomic<bool> stale_ = false;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_H_
