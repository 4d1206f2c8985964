#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/manifest/file_paths.h"
#include "server/dataset/manifest/manifest_column.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::manifest {

// The version of a row's file, without its revision.
struct FileVersion {
  std::uint64_t size = 0;  // bytes
  std::int64_t stamp = 0;  // see storage::ObjectVersion
};

// The fields of a sample, and the columns of the table that hold them. One
// field is "image" or "audio": its column has the paths of image files or audio
// files.
struct FieldColumns {
  std::vector<std::string> fields;
  std::vector<std::string> columns;  // a column for each field
};

// The syntax of a table.
enum class TableFormat { kCsv, kJsonLines };

// A function that returns the version of the object at a path below the root.
// May block. Several threads may call it at once.
using StatFunction = std::function<absl::StatusOr<storage::ObjectVersion>(
    const std::string& path)>;

// The place and syntax of a manifest, and the means to read it.
struct ManifestOptions {
  TableFormat format = TableFormat::kCsv;
  storage::ObjectVersion file;  // the version of the manifest's own file
  // The folder in which absolute paths must lie, without a slash at its end. If
  // it is empty, paths must be relative.
  std::string root;
  // Finds other names of `root`, for absolute paths that do not begin with
  // `root`. May be null.
  FindRoot find_root;
  // The folder where relative paths start: the manifest's own folder. It is
  // relative to the root and has a slash at its end, or is empty for the root
  // itself.
  std::string folder;
  int threads = 1;  // number of threads that stat files; not 0
  // Ends the reading early.
  std::stop_token stop;
  // Counts the memory of the Manifest that is made from the table. Never null.
  base::WorkingMemory* memory = nullptr;
};

// A table of samples. Each row has the path of an image file or an audio file,
// and integers and texts. Takes 24 bytes a sample, plus 8 bytes for each
// further field of the sample, and the bytes of paths and texts.
//
// Thread-safe. Immutable, except for the flag stale(). Owns its columns and a
// reservation for them. Only Read blocks or has errors.
class Manifest {
 public:
  // Reads `text` and stats the file of each row. Blocks meanwhile, but returns
  // soon after `options.stop` is requested. An error that a row causes names
  // the row's line.
  // INVALID_ARGUMENT: the fields or columns are malformed. NOT_FOUND: there are
  // no rows. CANCELLED: the reading was stopped. RESOURCE_EXHAUSTED:
  // `options.memory` cannot grow. Other errors are those of ReadCsvRows,
  // ReadJsonRows, FilePaths::Below and `stat`.
  static absl::StatusOr<std::shared_ptr<const Manifest>> Read(
      std::string_view text, const FieldColumns& fields,
      const ManifestOptions& options, const StatFunction& stat);

  // The version of the manifest's own file when it was read.
  const storage::ObjectVersion& file() const { return file_; }
  // Number of samples.
  std::uint64_t size() const { return versions_.size(); }
  const std::vector<Field>& fields() const { return fields_; }
  // The names of the classes, by label. Empty unless the column of labels has
  // texts.
  const std::vector<std::string>& classes() const { return classes_; }
  // Whether all names in classes() are numbers; an empty name is ignored.
  bool has_numeric_classes() const;
  // Bytes of the largest file.
  std::uint64_t largest_file() const { return fields_[content_].longest; }
  // A digest (XXH3) of all samples.
  const Version& version() const { return version_; }

  // At returns where a sample's file lies. ValuesOf fills `values` with the
  // sample's values, as Dataset::ValuesOf does. `id` is less than size().
  Sample At(std::uint64_t id) const;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const;

  // Records that a file has changed since Read. The catalog then reads the
  // manifest again.
  void MarkStale() const { stale_ = true; }
  bool stale() const { return stale_; }

 private:
  Manifest() = default;

  // Fills columns_ from the table. Fills `lines` with the line of each row.
  absl::Status ReadTable(std::string_view text, const FieldColumns& fields,
                         const ManifestOptions& options,
                         std::vector<std::uint64_t>* lines);
  // Fills versions_ on several threads.
  absl::Status StatFiles(const std::vector<std::uint64_t>& lines,
                         const ManifestOptions& options,
                         const StatFunction& stat);
  // Fills fields_ and classes_ from the columns.
  absl::Status Describe(const FieldColumns& fields,
                        base::WorkingMemory& memory);
  void Digest();
  // Returns the memory that the manifest takes, in bytes.
  std::uint64_t memory() const;

  base::MemoryReservation reservation_;
  storage::ObjectVersion file_;
  std::size_t content_ = 0;              // index of the field whose values are
                                         // the files
  std::vector<ManifestColumn> columns_;  // one for each field
  std::vector<FileVersion> versions_;    // one for each row
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  Version version_ = {};
  mutable std::atomic<bool> stale_ = false;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_H_
