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
#include "server/dataset/manifest/image_paths.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::manifest {

// Which image a row has: a whole file, whose revision does not matter.
struct ImageVersion {
  std::uint64_t size = 0;  // bytes
  std::int64_t stamp = 0;
};

// Which fields a manifest's columns are; one is "image", the path.
struct FieldColumns {
  std::vector<std::string> fields;
  std::vector<std::string> columns;  // one for each of them
};

enum class TableFormat { kCsv, kJsonLines };

// What a path in a manifest is below the root; may block. Called on several
// threads at once.
using StatFunction = std::function<absl::StatusOr<storage::ObjectVersion>(
    const std::string& path)>;

struct ManifestOptions {
  TableFormat format = TableFormat::kCsv;
  storage::ObjectVersion file;  // of the manifest itself
  // The folder that absolute paths must lie in, without a slash at its end;
  // empty: none may be absolute.
  std::string root;
  FindRoot find_root;  // of absolute paths that do not; may be null
  // Below it, where the manifest lies, with a slash at its end, or empty: other
  // paths are relative to that.
  std::string folder;
  int threads = 1;  // that look at paths; at least 1
  std::stop_token stop;
  // What is made of the table is counted in; must be there.
  base::WorkingMemory* memory = nullptr;
};

// A table of samples: in each row the path of an image, and integers and texts.
// Takes 24 bytes a sample and 8 a field, besides paths and texts, for which it
// holds a reservation. Immutable and thread-safe, but for the mark that it is
// stale.
class Manifest {
 public:
  // Reads `text` and looks at each image; blocks for that, until `stop` is
  // requested at the longest. INVALID_ARGUMENT: fields and columns that are
  // none; others: those of ReadCsvRows and ReadJsonRows, and of `stat`.
  // CANCELLED: stopped; RESOURCE_EXHAUSTED: that of the memory. Those of a row
  // name its line.
  static absl::StatusOr<std::shared_ptr<const Manifest>> Read(
      std::string_view text, const FieldColumns& fields,
      const ManifestOptions& options, const StatFunction& stat);

  // In which version the file was read.
  const storage::ObjectVersion& file() const { return file_; }
  std::uint64_t size() const { return versions_.size(); }
  const std::vector<Field>& fields() const { return fields_; }
  // Of labels that are names.
  const std::vector<std::string>& classes() const { return classes_; }
  // Whether these are all numbers, but for an empty one.
  bool has_numeric_classes() const;
  std::uint64_t largest_image() const { return fields_[image_].longest; }
  // A digest (XXH3) of all that samples are.
  const Version& version() const { return version_; }

  // `id` is less than size().
  Sample At(std::uint64_t id) const;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const;

  // Somebody found an image not to be what it was.
  void MarkStale() const { stale_ = true; }
  bool stale() const { return stale_; }

 private:
  Manifest() = default;

  absl::Status ReadTable(std::string_view text, const FieldColumns& fields,
                         const ManifestOptions& options,
                         std::vector<std::uint64_t>* lines);
  absl::Status StatImages(const std::vector<std::uint64_t>& lines,
                          const ManifestOptions& options,
                          const StatFunction& stat);
  absl::Status Describe(const FieldColumns& fields,
                        base::WorkingMemory& memory);
  void Digest();
  // Bytes of memory.
  std::uint64_t memory() const;

  base::MemoryReservation reservation_;
  storage::ObjectVersion file_;
  std::size_t image_ = 0;  // which field
  std::vector<Column> columns_;
  std::vector<ImageVersion> versions_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  Version version_ = {};
  mutable std::atomic<bool> stale_ = false;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_H_
