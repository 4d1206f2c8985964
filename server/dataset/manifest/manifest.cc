// A manifest is read in four steps. First, the table is parsed into columns,
// and each path is made relative to the root. Second, the version of each row's
// file is found by stat, on several threads. Third, the fields are derived from
// the columns, and names of labels become numbers. Fourth, the version is
// computed: a digest of all samples.
//
// Memory is counted in options.memory before it is allocated. At the end the
// manifest keeps a reservation for the memory that it takes. The line of each
// row is kept only while the manifest is read, for errors.
#include "server/dataset/manifest/manifest.h"

#include <algorithm>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/dataset/manifest/manifest_row_reader.h"
#include "server/dataset/manifest/number.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::manifest {
namespace {

constexpr std::string_view kImage = "image";
constexpr std::string_view kAudio = "audio";
constexpr std::string_view kLabel = "label";

// Whether the field named `field` is the row's file.
bool IsContent(std::string_view field) {
  return field == kImage || field == kAudio;
}

// Checks the names of fields, and that each field has a column.
absl::Status CheckFields(const FieldColumns& fields) {
  const auto& names = fields.fields;
  if (names.empty() || names.size() > kMaxDatasetFields ||
      fields.columns.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a manifest has 1 to ", kMaxDatasetFields,
                     " fields, each with its column"));
  }
  if (std::count_if(names.begin(), names.end(), IsContent) != 1) {
    return absl::InvalidArgumentError(
        "one field of a manifest is image or audio, whose column has the "
        "paths");
  }
  for (const std::string& name : names) {
    if (!IsFieldName(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the name of a field has 1 to ", proto::kMaxFieldName - 1, " bytes"));
    }
  }
  return absl::OkStatus();
}

absl::Status AtLine(const absl::Status& status, std::uint64_t line) {
  return base::Annotate(status, absl::StrCat("line ", line));
}

// Gives out the numbers below `count`, in order, to several threads. After an
// error, gives out only numbers below the one that failed. Keeps the error of
// the lowest number that failed, so the error does not depend on the threads'
// timing. Thread-safe.
class Numbers {
 public:
  explicit Numbers(std::uint64_t count) : count_(count) {}

  std::optional<std::uint64_t> Next() {
    base::MutexLock lock(&mutex_);
    if (next_ >= count_) return std::nullopt;
    return next_++;
  }
  void Report(std::uint64_t number, const absl::Status& error) {
    base::MutexLock lock(&mutex_);
    if (number < count_) {
      error_ = error;
      count_ = number;
    }
  }
  absl::Status error() {
    base::MutexLock lock(&mutex_);
    return error_;
  }

 private:
  base::Mutex mutex_;
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t count_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Manifest>> Manifest::Read(
    std::string_view text, const FieldColumns& fields,
    const ManifestOptions& options, const StatFunction& stat) {
  FOREBAY_RETURN_IF_ERROR(CheckFields(fields));
  std::shared_ptr<Manifest> manifest(new Manifest());
  manifest->file_ = options.file;
  FOREBAY_RETURN_IF_ERROR(options.memory->Grow(sizeof(Manifest)));
  std::vector<std::uint64_t> lines;
  FOREBAY_RETURN_IF_ERROR(manifest->ReadTable(text, fields, options, &lines));
  if (lines.empty()) return absl::NotFoundError("has no rows");
  FOREBAY_RETURN_IF_ERROR(manifest->StatFiles(lines, options, stat));
  FOREBAY_RETURN_IF_ERROR(manifest->Describe(fields, *options.memory));
  manifest->Digest();
  FOREBAY_ASSIGN_OR_RETURN(manifest->reservation_,
                           options.memory->Keep(manifest->memory()));
  return manifest;
}

absl::Status Manifest::ReadTable(std::string_view text,
                                 const FieldColumns& fields,
                                 const ManifestOptions& options,
                                 std::vector<std::uint64_t>* lines) {
  const bool csv = options.format == TableFormat::kCsv;
  base::WorkingMemory& memory = *options.memory;
  for (const std::string& name : fields.fields) {
    if (IsContent(name)) content_ = columns_.size();
    columns_.emplace_back(/*texts_may_be_integers=*/csv && !IsContent(name));
  }
  FilePaths paths(options.root, options.folder, options.find_root);
  const RowTaker take = [&](std::uint64_t line, absl::Span<Cell> cells) {
    // Tables may have millions of rows, so `stop` is checked at each row.
    if (options.stop.stop_requested()) {
      return absl::CancelledError("was not read to the end");
    }
    auto* const path = std::get_if<std::string>(&cells[content_]);
    if (path == nullptr) {
      return AtLine(absl::DataLossError(absl::StrCat(fields.columns[content_],
                                                     " is not a path")),
                    line);
    }
    auto below = paths.Below(*path);
    if (!below.ok()) return AtLine(below.status(), line);
    *path = *std::move(below);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      FOREBAY_RETURN_IF_ERROR(columns_[i].CountOneMore(cells[i], memory));
      if (const auto added = columns_[i].Add(cells[i]); !added.ok()) {
        return AtLine(base::Annotate(added, fields.columns[i]), line);
      }
    }
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(*lines, 1));
    lines->push_back(line);
    return absl::OkStatus();
  };
  FOREBAY_RETURN_IF_ERROR(
      csv ? ReadCsvRows(text, fields.columns, memory, take)
          : ReadJsonRows(text, fields.columns, memory, take));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    // Finish copies the column, to convert it to integers or to drop spare
    // capacity. `memory` counts the copy while both exist.
    const std::uint64_t bytes = columns_[i].memory();
    FOREBAY_RETURN_IF_ERROR(memory.Grow(bytes));
    if (const auto empty = columns_[i].Finish(); empty.has_value()) {
      return AtLine(
          absl::DataLossError(absl::StrCat(
              fields.columns[i], " is empty, but an integer in other rows")),
          (*lines)[*empty]);
    }
    memory.Shrink(bytes);
  }
  return absl::OkStatus();
}

absl::Status Manifest::StatFiles(const std::vector<std::uint64_t>& lines,
                                 const ManifestOptions& options,
                                 const StatFunction& stat) {
  FOREBAY_RETURN_IF_ERROR(options.memory->MakeRoom(versions_, lines.size()));
  versions_.resize(lines.size());
  Numbers rows(lines.size());
  const auto work = [&] {
    while (const auto row = rows.Next()) {
      if (options.stop.stop_requested()) {
        rows.Report(*row, absl::CancelledError("was not looked at"));
        return;
      }
      auto version = stat(std::string(columns_[content_].TextAt(*row)));
      if (version.ok()) {
        versions_[*row] = {version->size, version->stamp};
      } else {
        rows.Report(*row, AtLine(version.status(), lines[*row]));
      }
    }
  };
  FOREBAY_CHECK(options.threads >= 1);
  // More than one thread for 64 files would hardly save time.
  const std::uint64_t useful = (lines.size() + 63) / 64;
  base::RunOnThreads(std::min<std::uint64_t>(options.threads, useful), work);
  return rows.error();
}

absl::Status Manifest::Describe(const FieldColumns& fields,
                                base::WorkingMemory& memory) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    ManifestColumn& column = columns_[i];
    Field field{.name = fields.fields[i]};
    if (i == content_) {
      field.kind = field.name == kAudio ? proto::FieldKind::kAudio
                                        : proto::FieldKind::kImage;
      for (const FileVersion& version : versions_)
        field.longest = std::max(field.longest, version.size);
    } else if (field.name == kLabel && !column.has_integers()) {
      field.kind = proto::FieldKind::kLabel;
      FOREBAY_ASSIGN_OR_RETURN(classes_, column.TakeClasses(memory));
    } else if (column.has_integers()) {
      field.kind = proto::FieldKind::kLabel;
    } else {
      field.kind = proto::FieldKind::kText;
      field.longest = column.longest();
    }
    fields_.push_back(std::move(field));
  }
  return absl::OkStatus();
}

// Counts the capacities of vectors, since that much memory is allocated.
std::uint64_t Manifest::memory() const {
  std::uint64_t bytes =
      sizeof(Manifest) + versions_.capacity() * sizeof(FileVersion);
  for (const ManifestColumn& column : columns_) bytes += column.memory();
  for (const std::string& name : classes_)
    bytes += sizeof(std::string) + base::HeapBytes(name.size());
  return bytes;
}

bool Manifest::has_numeric_classes() const {
  bool numeric = false;
  for (const std::string& name : classes_) {
    if (name.empty()) continue;
    if (!IsNumber(name)) return false;
    numeric = true;
  }
  return numeric;
}

void Manifest::Digest() {
  VersionDigest digest;
  for (const Field& field : fields_) digest.Add(field.name);
  for (const std::string& name : classes_) digest.Add(name);
  for (std::uint64_t row = 0; row < size(); ++row) {
    const FileVersion& version = versions_[row];
    digest.Add(version.size).Add(version.stamp);
    for (const ManifestColumn& column : columns_) {
      if (column.has_integers()) {
        digest.Add(column.IntegerAt(row));
      } else {
        digest.Add(column.TextAt(row));
      }
    }
  }
  version_ = digest.Get();
}

Sample Manifest::At(std::uint64_t id) const {
  FOREBAY_CHECK(id < size());
  return {.object = std::string(columns_[content_].TextAt(id)),
          .version = {versions_[id].size, versions_[id].stamp},
          .layout = nullptr,
          .offset = 0,
          .length = versions_[id].size};
}

void Manifest::ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(id < size() && values.size() == columns_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == content_) {
      values[i] = FieldRange{0, versions_[id].size};
    } else if (columns_[i].has_integers()) {
      values[i] = columns_[i].IntegerAt(id);
    } else {
      values[i] = columns_[i].TextAt(id);
    }
  }
}

}  // namespace forebay::dataset::manifest
