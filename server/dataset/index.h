#ifndef FOREBAY_SERVER_DATASET_INDEX_H_
#define FOREBAY_SERVER_DATASET_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset {

// The state of a directory, by which a later look tells whether anything was
// added, removed or renamed in it.
struct DirectoryStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_nanos = 0;  // since the epoch, as ctime_nanos
  std::int64_t ctime_nanos = 0;

  friend bool operator==(const DirectoryStamp&,
                         const DirectoryStamp&) = default;
};

// A directory of the tree and its own files, which are consecutive samples. The
// path, relative to the root, is followed in the names by its files' names.
struct IndexDirectory {
  static constexpr std::uint32_t kNoLabel = UINT32_MAX;

  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint32_t path_length = 0;  // bytes
  std::uint32_t label = kNoLabel;
  std::uint64_t first_sample = 0;
  DirectoryStamp stamp;
};
static_assert(sizeof(IndexDirectory) == 56);

// One sample's file. A file of more than 2^48 - 1 bytes counts as having just
// these; reading it tells.
class IndexRecord {
 public:
  static constexpr std::uint64_t kLargestSize = (std::uint64_t{1} << 48) - 1;
  // Bytes: objects' names may be longer than files'.
  static constexpr std::size_t kLongestName = UINT16_MAX;

  IndexRecord() = default;
  // `name_offset` counts from the end of the directory's path; `name_length` is
  // at most kLongestName.
  IndexRecord(std::uint32_t name_offset, std::size_t name_length,
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
static_assert(sizeof(IndexRecord) == 20);

// What an index is made of.
struct IndexParts {
  // The root comes first and has no samples of its own; then, by label, each
  // class's directory and what lies beneath it.
  std::vector<IndexDirectory> directories;
  std::vector<IndexRecord> records;
  std::string names;
  // When the scan began, in nanoseconds since the epoch.
  std::int64_t scanned_at_nanos = 0;
  // Which absolute paths links were resolved by, as a digest; 0: there are no
  // links, so that it does not matter.
  std::uint64_t link_context = 0;
  // For at least Index::Bytes of them.
  base::MemoryReservation reservation = {};
};

// Every sample of a dataset of files: its name, size, time and label, packed.
// Takes 20 bytes a sample and 56 a directory, besides the names, for which it
// holds a reservation. Immutable and thread-safe; never blocks.
class Index {
 public:
  // DATA_LOSS if the parts do not fit together; they may come from a file that
  // nobody vouches for.
  static absl::StatusOr<std::shared_ptr<const Index>> Create(IndexParts parts);

  std::uint64_t size() const { return parts_.records.size(); }
  std::uint64_t largest_sample() const { return largest_sample_; }
  const std::vector<std::string>& classes() const { return classes_; }
  // A digest (XXH3) of all samples' names, sizes, times and labels.
  const Version& version() const { return version_; }
  const IndexParts& parts() const { return parts_; }

  // In the three below, `id` is less than size().
  Sample At(std::uint64_t id) const;
  std::int64_t LabelOf(std::uint64_t id) const { return DirectoryOf(id).label; }
  // Bytes.
  std::uint64_t LengthOf(std::uint64_t id) const {
    return parts_.records[id].size();
  }

  // `directory` is one of parts().directories.
  std::string_view PathOf(const IndexDirectory& directory) const {
    return std::string_view(parts_.names)
        .substr(directory.path_offset, directory.path_length);
  }

  // Whether changes after the scan began must show in some directory's times,
  // if the scan (or an equal later one) began at `scanned_at_nanos`: none had
  // been changed so shortly before that a further change could have left the
  // same time.
  bool IsSettled(std::int64_t scanned_at_nanos) const;

  // Whether the other tells the same samples, in directories of the same
  // stamps.
  bool IsSameAs(const Index& other) const;

  // Bytes of memory.
  std::uint64_t memory() const;
  // The most bytes that an index takes of so many directories and samples, with
  // names of so many bytes.
  static std::uint64_t Bytes(std::uint64_t directories, std::uint64_t samples,
                             std::uint64_t names);

 private:
  explicit Index(IndexParts parts) : parts_(std::move(parts)) {}

  absl::Status CheckDirectories();
  absl::Status CheckRecords() const;
  void Summarize();
  const IndexDirectory& DirectoryOf(std::uint64_t id) const;
  // One past the last sample of directory number `directory`.
  std::uint64_t EndOf(std::size_t directory) const;
  std::string_view NameOf(const IndexDirectory& directory,
                          const IndexRecord& record) const;

  IndexParts parts_;
  std::vector<std::string> classes_;
  std::uint64_t largest_sample_ = 0;
  std::int64_t last_change_nanos_ = 0;  // never before the epoch
  Version version_ = {};
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_H_
