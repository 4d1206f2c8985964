#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/npy/npy_rows.h"
#include "server/dataset/path_lookup.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npy {

// The extent of a file's rows within the file.
struct FileRows {
  // Number of rows.
  std::uint64_t count = 0;
  // Number of bytes before the file's first row.
  std::uint64_t data_offset = 0;
};

// The rows of all files of a dataset, numbered one file after the other. A row
// is found by a binary search over the files. The index takes a few hundred
// bytes of memory for each file, however many rows the file has.
//
// Thread-safe. Immutable, except for the files' ctimes (inode change times),
// which Accept updates. Owns a reservation for its memory. Never blocks. Only
// Create has errors.
class NpyIndex {
 public:
  // The place of one row: its file, its number in that file, and its first
  // byte.
  struct Extent {
    std::size_t file = 0;
    // Number of the row within that file.
    std::uint64_t row = 0;
    // Offset in bytes from the start of the file.
    std::uint64_t offset = 0;
  };

  // Makes the index of `files`. `rows` has one item for each file, and each row
  // has `row_bytes` bytes, at least 1. The index keeps the part of `memory`
  // that counts the index. INVALID_ARGUMENT: there are too many rows; the error
  // names the file at which the limit is exceeded. RESOURCE_EXHAUSTED: `memory`
  // has no room.
  static absl::StatusOr<std::shared_ptr<const NpyIndex>> Create(
      absl::Span<const storage::ListedObject> files, ArrayType type,
      std::uint64_t row_bytes, absl::Span<const FileRows> rows,
      base::WorkingMemory& memory);

  // Number of rows in all files together.
  std::uint64_t size() const { return size_; }
  const ArrayType& type() const { return type_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  // Returns a digest (XXH3) of the rows' type and of every file's path, rows,
  // size and modification time. Inodes and ctimes are left out: a copy of the
  // files is the same dataset.
  const Version& version() const { return version_; }

  std::size_t files() const { return files_.size(); }
  // Returns the extent of a file's rows. `file` is less than files().
  FileRows RowsOf(std::size_t file) const {
    return {CountOf(file), files_[file].data_offset};
  }
  // Returns the memory that the index has reserved, in bytes.
  std::uint64_t memory() const { return reservation_.bytes(); }

  // Returns the place of a row. `row` is less than size().
  Extent ExtentOf(std::uint64_t row) const;
  const std::string& PathOf(std::size_t file) const {
    return files_[file].path;
  }
  // Returns the version of a file, with the ctime that was accepted last.
  storage::ObjectVersion VersionOf(std::size_t file) const;

  // Whether this is the index of exactly these files, in this order and in
  // these versions.
  bool IsOf(absl::Span<const storage::ListedObject> files) const;

  // The four calls below take the path of a file of the index. RevisionOf
  // returns the inode and the ctime with which that file was last accepted.
  storage::Revision RevisionOf(std::string_view path) const;
  // Returns the number of bytes before the file's first row.
  std::uint64_t DataOffsetOf(std::string_view path) const;
  // Compares `rows`, which were read from `revision` of the file, with the
  // index. If the rows are equal and the inode is the same, the index takes
  // over the new ctime, and the call returns true. If not, the call changes
  // nothing and returns false.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const NpyRows& rows) const;
  // Accepts the revision as Accept does, but lets `is_as_indexed` compare the
  // contents. A path that is listed several times has several file numbers. The
  // callback must return true for each of them.
  bool AcceptIf(std::string_view path, const storage::Revision& revision,
                absl::FunctionRef<bool(std::size_t file)> is_as_indexed) const;

 private:
  // A file of the dataset. Its ctime is in `ctimes_`, because a ctime may
  // change.
  struct File {
    std::string path;
    storage::ObjectVersion version;
    // Number of the file's first row in the dataset.
    std::uint64_t first_row = 0;
    // Number of bytes before the file's first row.
    std::uint64_t data_offset = 0;
  };

  NpyIndex(ArrayType type, std::uint64_t row_bytes, std::size_t files);

  std::uint64_t CountOf(std::size_t file) const;
  // Computes version() from the members that Create has filled in.
  void Digest();
  // Returns the function that PathLookup calls to get the path of a file, given
  // the file's number.
  auto paths() const {
    return [this](std::size_t file) -> std::string_view {
      return files_[file].path;
    };
  }

  const ArrayType type_;
  const std::uint64_t row_bytes_;
  std::uint64_t size_ = 0;
  std::vector<File> files_;
  PathLookup by_path_;
  // The ctime of each file, in nanoseconds, when the file was last found to be
  // as indexed. Atomic, because Accept runs on any thread.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
  Version version_ = {};
  base::MemoryReservation reservation_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_H_
