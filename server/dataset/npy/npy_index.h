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

// Where a file's rows lie.
struct FileRows {
  std::uint64_t count = 0;        // rows
  std::uint64_t data_offset = 0;  // bytes before the first row
};

// The rows of all files of a dataset, one file after the other. It takes some
// hundred bytes a file, however many rows it has, and holds a reservation for
// them. Thread-safe; immutable, but for the files' ctimes. Never blocks.
class NpyIndex {
 public:
  // The bytes of a row, in the file of that number.
  struct Extent {
    std::size_t file = 0;
    std::uint64_t row = 0;     // in that file
    std::uint64_t offset = 0;  // bytes
  };

  // `rows` has an item for each of `files`, and `row_bytes` bytes each row. The
  // index keeps its part of `memory`. INVALID_ARGUMENT, naming the file: there
  // are too many rows; RESOURCE_EXHAUSTED: that of `memory`.
  static absl::StatusOr<std::shared_ptr<const NpyIndex>> Create(
      absl::Span<const storage::ListedObject> files, ArrayType type,
      std::uint64_t row_bytes, absl::Span<const FileRows> rows,
      base::WorkingMemory& memory);

  std::uint64_t size() const { return size_; }  // rows
  const ArrayType& type() const { return type_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  // A digest (XXH3) of the type, and of the files with their sizes and times.
  const Version& version() const { return version_; }

  std::size_t files() const { return files_.size(); }
  // `file` is less than files().
  FileRows RowsOf(std::size_t file) const {
    return {CountOf(file), files_[file].data_offset};
  }
  // Bytes of memory.
  std::uint64_t memory() const { return reservation_.bytes(); }

  // `row` is less than size().
  Extent ExtentOf(std::uint64_t row) const;
  const std::string& PathOf(std::size_t file) const {
    return files_[file].path;
  }
  storage::ObjectVersion VersionOf(std::size_t file) const;

  // Whether it is of these files, in these versions.
  bool IsOf(absl::Span<const storage::ListedObject> files) const;

  // The calls below are for a file of the index by its path.
  storage::Revision RevisionOf(std::string_view path) const;
  // Bytes before its first row.
  std::uint64_t DataOffsetOf(std::string_view path) const;
  // Another look found `rows` in that revision of the file. If they lie where
  // the index has them, it knows the file by that revision from then on. Else
  // returns false and changes nothing.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const NpyRows& rows) const;
  // Accepts the file as Accept does, if `is_as_indexed` says so of its number.
  bool AcceptIf(std::string_view path, const storage::Revision& revision,
                absl::FunctionRef<bool(std::size_t file)> is_as_indexed) const;

 private:
  struct File {
    std::string path;
    storage::ObjectVersion version;
    std::uint64_t first_row = 0;
    std::uint64_t data_offset = 0;
  };

  NpyIndex(ArrayType type, std::uint64_t row_bytes, std::size_t files);

  std::uint64_t CountOf(std::size_t file) const;
  void Digest();
  // As PathLookup wants them.
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
  // By file: the ctime of the file that was last found to be as indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
  Version version_ = {};
  base::MemoryReservation reservation_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_INDEX_H_
