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

// The state of a directory. It changes when an entry is added, removed or
// renamed in the directory.
struct DirectoryVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_nanos = 0;  // both times since the Unix epoch
  std::int64_t ctime_nanos = 0;

  friend bool operator==(const DirectoryVersion&,
                         const DirectoryVersion&) = default;
};

// A directory of the tree, and the files directly in it, which are consecutive
// samples. In FolderIndexParts::names, the directory's path is followed by the
// names of its files. The path is relative to the root; the root's path is
// empty.
struct DirectoryRecord {
  // The label of the root, which is not a class.
  static constexpr std::uint32_t kNoLabel = UINT32_MAX;

  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint32_t path_length = 0;  // bytes
  std::uint32_t label = kNoLabel;
  std::uint64_t first_sample = 0;
  DirectoryVersion version;
};
static_assert(sizeof(DirectoryRecord) == 56);

// The file of one sample. A file larger than kLargestSize is recorded with the
// size kLargestSize, and reading it fails.
class FolderFile {
 public:
  // The largest size in bytes: sizes are stored in 48 bits.
  static constexpr std::uint64_t kLargestSize = (std::uint64_t{1} << 48) - 1;
  // The longest name in bytes. Objects may have longer names than files.
  static constexpr std::size_t kLongestName = UINT16_MAX;

  FolderFile() = default;
  // `name_offset` counts bytes from the end of the directory's path in the
  // names; `name_length` is at most kLongestName.
  FolderFile(std::uint32_t name_offset, std::size_t name_length,
             std::uint64_t size, std::int64_t mtime_nanos);

  // Returns the offset of the name, in bytes from the end of the directory's
  // path in the names.
  std::uint32_t name_offset() const { return name_offset_; }
  std::uint16_t name_length() const { return name_length_; }
  // Returns the file's size in bytes.
  std::uint64_t size() const {
    return std::uint64_t{size_high_} << 32 | size_low_;
  }
  // Returns the mtime in nanoseconds since the Unix epoch, or an object's stamp
  // (storage::ObjectVersion).
  std::int64_t mtime_nanos() const {
    return static_cast<std::int64_t>(std::uint64_t{mtime_high_} << 32 |
                                     mtime_low_);
  }

 private:
  // Numbers of 64 and 48 bits are stored in two parts: otherwise alignment
  // would cost four more bytes a sample.
  std::uint32_t name_offset_ = 0;
  std::uint32_t size_low_ = 0;
  std::uint32_t mtime_low_ = 0;
  std::uint32_t mtime_high_ = 0;
  std::uint16_t size_high_ = 0;
  std::uint16_t name_length_ = 0;
};
static_assert(sizeof(FolderFile) == 20);

// The parts of an index, as its file stores them.
struct FolderIndexParts {
  // The root comes first. It has samples only if it is the only directory. The
  // classes follow in the order of their labels: each class's directory, and
  // then the directories below it.
  std::vector<DirectoryRecord> directories;
  std::vector<FolderFile> records;
  std::string names;
  // The time when the scan began, in nanoseconds since the Unix epoch.
  std::int64_t scanned_at_nanos = 0;
  // A digest of the absolute paths by which symbolic links were resolved; 0 if
  // there are no links.
  std::uint64_t link_context = 0;
  // A reservation of at least FolderIndex::Bytes() bytes.
  base::MemoryReservation reservation = {};
};

// The index of a dataset of files: the name, size, time and label of each
// sample, in a compact form. It takes 20 bytes for each sample, 56 bytes for
// each directory, and the bytes of the names.
//
// Thread-safe. Immutable except for scanned_at_nanos() and stale(). Holds a
// reservation for its memory. Never blocks. Only Create has errors.
class FolderIndex {
 public:
  // Makes an index from its parts. Checks the parts, since they may come from a
  // damaged file. DATA_LOSS: the parts do not fit together.
  static absl::StatusOr<std::shared_ptr<const FolderIndex>> Create(
      FolderIndexParts parts);

  // Returns the number of samples, and the sizes in bytes of the largest and
  // the smallest sample.
  std::uint64_t size() const { return parts_.records.size(); }
  std::uint64_t largest_sample() const { return largest_sample_; }
  std::uint64_t smallest_sample() const { return smallest_sample_; }
  // Whether all samples lie directly in the root, and have no labels.
  bool is_flat() const { return size() > 0 && parts_.directories.size() == 1; }
  // Returns the names of the classes, by label. Empty if the folder is flat.
  const std::vector<std::string>& classes() const { return classes_; }
  // Returns a digest (XXH3-128) of all samples' names, sizes, times and labels.
  const Version& version() const { return version_; }
  const FolderIndexParts& parts() const { return parts_; }

  // Returns where a sample's file is. Here and in the next four methods, `id`
  // is less than size().
  Sample At(std::uint64_t id) const;
  // Returns the number of the sample's class.
  std::int64_t LabelOf(std::uint64_t id) const { return DirectoryOf(id).label; }
  // Returns the size of the sample's file in bytes.
  std::uint64_t LengthOf(std::uint64_t id) const {
    return parts_.records[id].size();
  }
  // Returns the file's mtime in nanoseconds, or a cloud object's generation.
  std::int64_t StampOf(std::uint64_t id) const {
    return parts_.records[id].mtime_nanos();
  }
  // Returns the length in bytes of the path that At() gives as the object's
  // name.
  std::uint64_t PathLengthOf(std::uint64_t id) const {
    const std::uint64_t directory = DirectoryOf(id).path_length;
    return directory + (directory == 0 ? 0 : 1) +
           parts_.records[id].name_length();
  }

  // Returns the path of one of parts().directories.
  std::string_view PathOf(const DirectoryRecord& directory) const {
    return std::string_view(parts_.names)
        .substr(directory.path_offset, directory.path_length);
  }

  // Returns when the last scan that found exactly these samples began, in
  // nanoseconds since the Unix epoch.
  std::int64_t scanned_at_nanos() const { return scanned_at_nanos_; }
  // Records that a scan which began at `scanned_at_nanos` found exactly these
  // samples. So the index is not stale.
  void Confirm(std::int64_t scanned_at_nanos) const {
    scanned_at_nanos_ = scanned_at_nanos;
    stale_ = false;
  }
  // Records that a read has found a file that differs from the index.
  void MarkStale() const { stale_ = true; }
  // Whether MarkStale was called after the last call of Confirm.
  bool stale() const { return stale_; }

  // Whether the times of a directory are sure to differ if it was changed after
  // the last scan began. They are sure to differ if all directories were last
  // changed long before that scan. File systems may store coarse times: a
  // directory that changed just before the scan might change again and keep the
  // same time.
  bool IsSettled() const;

  // Whether `other` has the same samples, in directories of the same versions.
  bool IsSameAs(const FolderIndex& other) const;

  // Returns the memory that the index takes, in bytes.
  std::uint64_t memory() const;
  // Returns an upper bound of memory() for an index with these numbers of
  // items, and `names` bytes of names.
  static std::uint64_t Bytes(std::uint64_t directories, std::uint64_t samples,
                             std::uint64_t names);

 private:
  explicit FolderIndex(FolderIndexParts parts)
      : parts_(std::move(parts)), scanned_at_nanos_(parts_.scanned_at_nanos) {}

  // Checks the directories, and collects the classes.
  absl::Status CheckDirectories();
  // Checks the samples, and computes the version and the statistics.
  absl::Status CheckRecords();
  // Checks the samples of one directory, up to number `end` - 1, and digests
  // their names.
  absl::Status CheckNames(const DirectoryRecord& directory, std::uint64_t end,
                          VersionDigest& digest);
  // Returns the directory that has the sample.
  const DirectoryRecord& DirectoryOf(std::uint64_t id) const;
  // Returns the number of the last sample in directory number `directory`, plus
  // 1.
  std::uint64_t EndOf(std::size_t directory) const;
  // Returns a file's name in its directory.
  std::string_view NameOf(const DirectoryRecord& directory,
                          const FolderFile& record) const;

  FolderIndexParts parts_;
  std::vector<std::string> classes_;
  std::uint64_t largest_sample_ = 0;
  std::uint64_t smallest_sample_ = 0;
  // The latest ctime of any directory; at least 0.
  std::int64_t last_change_nanos_ = 0;
  Version version_ = {};
  mutable std::atomic<std::int64_t> scanned_at_nanos_;
  mutable std::atomic<bool> stale_ = false;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_INDEX_H_
