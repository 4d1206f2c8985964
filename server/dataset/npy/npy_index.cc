#include "server/dataset/npy/npy_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::npy {
namespace {

// Bounds the rows of a dataset, so that positions within an epoch do not
// overflow 64 bits.
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 62;

}  // namespace

NpyIndex::NpyIndex(ArrayType type, std::uint64_t row_bytes, std::size_t files)
    : type_(std::move(type)), row_bytes_(row_bytes), ctimes_(files) {}

absl::StatusOr<std::shared_ptr<const NpyIndex>> NpyIndex::Create(
    absl::Span<const storage::ListedObject> files, ArrayType type,
    std::uint64_t row_bytes, absl::Span<const FileRows> rows,
    base::WorkingMemory& memory) {
  FOREBAY_CHECK(files.size() == rows.size() && row_bytes > 0);
  // The reservation comes before the allocations that it counts.
  std::uint64_t bytes = sizeof(NpyIndex);
  for (const storage::ListedObject& file : files) {
    bytes += sizeof(File) + sizeof(ctimes_.front()) + PathLookup::Bytes(1) +
             base::HeapBytes(file.name.size());
  }
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation reservation,
                           memory.Keep(bytes));
  std::shared_ptr<NpyIndex> index(
      new NpyIndex(std::move(type), row_bytes, files.size()));
  index->reservation_ = std::move(reservation);
  index->files_.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    index->files_.push_back({.path = files[i].name,
                             .version = files[i].version,
                             .first_row = index->size_,
                             .data_offset = rows[i].data_offset});
    index->ctimes_[i] = files[i].version.revision.ctime_nanos;
    if (rows[i].count > kMaxRows - index->size_) {
      return absl::InvalidArgumentError(
          absl::StrCat(files[i].name, ": up to here there are more than ",
                       kMaxRows, " rows"));
    }
    index->size_ += rows[i].count;
  }
  index->Digest();
  index->by_path_ = PathLookup(files.size(), index->paths());
  return index;
}

void NpyIndex::Digest() {
  VersionDigest digest("npy");
  digest.Add(static_cast<std::uint32_t>(type_.dtype));
  digest.Add(std::uint64_t{type_.shape.size()});
  digest.AddItems(type_.shape.data(), type_.shape.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const File& file = files_[i];
    digest.Add(std::string_view(file.path));
    digest.Add(CountOf(i)).Add(file.data_offset);
    digest.Add(file.version.size).Add(file.version.stamp);
  }
  version_ = digest.Get();
}

std::uint64_t NpyIndex::CountOf(std::size_t file) const {
  const std::uint64_t end =
      file + 1 < files_.size() ? files_[file + 1].first_row : size_;
  return end - files_[file].first_row;
}

NpyIndex::Extent NpyIndex::ExtentOf(std::uint64_t row) const {
  FOREBAY_CHECK(row < size_);
  // The row is in the last file whose first row is not after it. A file without
  // rows begins where the next file does, and is therefore never chosen.
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), row,
                       [](std::uint64_t wanted, const File& file) {
                         return wanted < file.first_row;
                       });
  const auto file = static_cast<std::size_t>(after - files_.begin() - 1);
  const std::uint64_t within = row - files_[file].first_row;
  return {.file = file,
          .row = within,
          .offset = files_[file].data_offset + within * row_bytes_};
}

storage::ObjectVersion NpyIndex::VersionOf(std::size_t file) const {
  storage::ObjectVersion version = files_[file].version;
  version.revision.ctime_nanos = ctimes_[file];
  return version;
}

bool NpyIndex::IsOf(absl::Span<const storage::ListedObject> files) const {
  if (files.size() != files_.size()) return false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].version != VersionOf(i) || files[i].name != files_[i].path)
      return false;
  }
  return true;
}

storage::Revision NpyIndex::RevisionOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths()))
    return VersionOf(i).revision;
  return {};
}

std::uint64_t NpyIndex::DataOffsetOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths()))
    return files_[i].data_offset;
  return 0;
}

bool NpyIndex::Accept(std::string_view path, const storage::Revision& revision,
                      const NpyRows& rows) const {
  if (rows.type != type_) return false;
  return AcceptIf(path, revision, [&](std::size_t file) {
    return rows.count == CountOf(file) &&
           rows.data_offset == files_[file].data_offset;
  });
}

bool NpyIndex::AcceptIf(
    std::string_view path, const storage::Revision& revision,
    absl::FunctionRef<bool(std::size_t)> is_as_indexed) const {
  const std::vector<std::size_t> files = by_path_.Find(path, paths());
  for (const std::size_t i : files) {
    if (revision.inode != files_[i].version.revision.inode || !is_as_indexed(i))
      return false;
  }
  for (const std::size_t i : files) ctimes_[i] = revision.ctime_nanos;
  return true;
}

}  // namespace forebay::dataset::npy
