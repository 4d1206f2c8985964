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
#include "server/dataset/manifest/column.h"
#include "server/dataset/manifest/file_paths.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::manifest {

// The version of a row's file, whose revision does not matter.
struct FileVersion {
  std::uint64_t size = 0;  // bytes
  std::int64_t stamp = 0;
};

// The fields, and the columns that hold them. One field is "image" or "audio",
// the path of a file that is one.
struct FieldColumns {
  std::vector<std::string> fields;
  std::vector<std::string> columns;  // one for each of them
};

enum class TableFormat { kCsv, kJsonLines };

// Returns the version of the object at a path below the root. May block. Called
// on several threads at once.
using StatFunction = std::function<absl::StatusOr<storage::ObjectVersion>(
    const std::string& path)>;

struct ManifestOptions {
  TableFormat format = TableFormat::kCsv;
  storage::ObjectVersion file;  // of the manifest itself
  // The folder that absolute paths must lie in, without a slash at its end. If
  // empty, no path may be absolute.
  std::string root;
  FindRoot find_root;  // for absolute paths outside of `root`; may be null
  // The manifest's folder below the root, with a slash at its end, or empty.
  // Other paths are relative to it.
  std::string folder;
  int threads = 1;  // that stat files; at least 1
  std::stop_token stop;
  // Counts what is made of the table; never null.
  base::WorkingMemory* memory = nullptr;
};

// A table of samples. Each row has the path of a file, an image or audio, and
// integers and texts. Takes 24 bytes a sample and 8 a field, besides paths and
// texts; holds a reservation for them. Thread-safe; immutable, but for the mark
// that it is stale.
class Manifest {
 public:
  // Reads `text` and stats each file. Blocks for that, at most until `stop` is
  // requested. INVALID_ARGUMENT: the fields or columns are malformed;
  // CANCELLED: stopped; RESOURCE_EXHAUSTED: that of the memory; others: those
  // of ReadCsvRows, ReadJsonRows and `stat`. Errors of a row name its line.
  static absl::StatusOr<std::shared_ptr<const Manifest>> Read(
      std::string_view text, const FieldColumns& fields,
      const ManifestOptions& options, const StatFunction& stat);

  // The version of the file that was read.
  const storage::ObjectVersion& file() const { return file_; }
  std::uint64_t size() const { return versions_.size(); }
  const std::vector<Field>& fields() const { return fields_; }
  // The names of labels, if the label's column has texts.
  const std::vector<std::string>& classes() const { return classes_; }
  // Whether all names are numbers, but for an empty one.
  bool has_numeric_classes() const;
  std::uint64_t largest_file() const { return fields_[content_].longest; }
  // A digest (XXH3) of all samples.
  const Version& version() const { return version_; }

  // `id` is less than size().
  Sample At(std::uint64_t id) const;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const;

  // To be called when a file was found to be another.
  void MarkStale() const { stale_ = true; }
  bool stale() const { return stale_; }

 private:
  Manifest() = default;

  absl::Status ReadTable(std::string_view text, const FieldColumns& fields,
                         const ManifestOptions& options,
                         std::vector<std::uint64_t>* lines);
  absl::Status StatFiles(const std::vector<std::uint64_t>& lines,
                         const ManifestOptions& options,
                         const StatFunction& stat);
  absl::Status Describe(const FieldColumns& fields,
                        base::WorkingMemory& memory);
  void Digest();
  // Bytes of memory.
  std::uint64_t memory() const;

  base::MemoryReservation reservation_;
  storage::ObjectVersion file_;
  std::size_t content_ = 0;  // index of the field that is made of the file
  std::vector<Column> columns_;
  std::vector<FileVersion> versions_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  Version version_ = {};
  mutable std::atomic<bool> stale_ = false;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_H_
