#include "server/dataset/npy/npy_index_format.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::npy {
namespace {

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'N', 'P', 'Y', 'I', 'X'}, 1, 0};
// Axes that a row can have: a batch has one axis more than its rows.
constexpr std::size_t kMostAxes = 5;
static_assert(kMostAxes == proto::kMaxRank - 1);

// The header of an index file. npy_index_format.h describes its fields, in this
// order.
struct Header {
  IndexFileType type;
  std::uint64_t files;
  std::uint64_t paths_bytes;
  std::uint32_t dtype;
  std::uint32_t axes;
  std::uint64_t shape[kMostAxes];
  std::uint64_t zeros[2];
};
static_assert(sizeof(Header) == 96);

// A file of the dataset. Times are in nanoseconds, sizes in bytes; the fields
// are those of storage::ObjectVersion and FileRows.
struct FileItem {
  std::uint64_t path_bytes;
  std::uint64_t size;
  std::int64_t stamp;
  std::uint64_t inode;
  std::int64_t ctime_nanos;
  std::uint64_t rows;
  std::uint64_t data_offset;
};
static_assert(sizeof(FileItem) == 56);

// Returns the type of a row. DATA_LOSS: the element type is unknown, there are
// too many axes, or a row has no bytes, or at least 2^64.
absl::StatusOr<ArrayType> TypeOf(const Header& header) {
  ArrayType type;
  type.dtype = static_cast<proto::DType>(header.dtype);
  std::uint64_t bytes = proto::SizeOf(type.dtype);
  if (bytes == 0 || header.axes > kMostAxes)
    return DamagedIndexFile("has rows of no type");
  type.shape.assign(header.shape, header.shape + header.axes);
  for (const std::uint64_t extent : type.shape) {
    if (extent == 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      return DamagedIndexFile("has rows of no size");
  }
  return type;
}

// Whether the file ends exactly with its last row. The scan accepted no other
// files.
bool Fits(const FileItem& item, std::uint64_t row_bytes) {
  std::uint64_t bytes = 0;
  return !__builtin_mul_overflow(item.rows, row_bytes, &bytes) &&
         !__builtin_add_overflow(bytes, item.data_offset, &bytes) &&
         bytes == item.size;
}

}  // namespace

std::string EncodeNpyIndex(const NpyIndex& index) {
  Header header = {};
  header.type = kType;
  header.files = index.files();
  header.dtype = static_cast<std::uint32_t>(index.type().dtype);
  header.axes = static_cast<std::uint32_t>(index.type().shape.size());
  std::copy(index.type().shape.begin(), index.type().shape.end(),
            std::begin(header.shape));
  std::vector<FileItem> items;
  items.reserve(index.files());
  for (std::size_t i = 0; i < index.files(); ++i) {
    const storage::ObjectVersion version = index.VersionOf(i);
    const FileRows rows = index.RowsOf(i);
    items.push_back({.path_bytes = index.PathOf(i).size(),
                     .size = version.size,
                     .stamp = version.stamp,
                     .inode = version.revision.inode,
                     .ctime_nanos = version.revision.ctime_nanos,
                     .rows = rows.count,
                     .data_offset = rows.data_offset});
    header.paths_bytes += items.back().path_bytes;
  }
  std::string bytes;
  bytes.reserve(sizeof(header) + items.size() * sizeof(FileItem) +
                header.paths_bytes + kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, items);
  for (std::size_t i = 0; i < index.files(); ++i) bytes += index.PathOf(i);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const NpyIndex>> DecodeNpyIndex(
    IndexFileReader& file, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  // The call of Grow below counts `items` and `paths`, and also `files` and
  // `rows`, which are made from `items` and `paths`. Each file has its path as
  // a string.
  std::vector<FileItem> items;
  std::string paths;
  std::vector<storage::ListedObject> files;
  std::vector<FileRows> rows;
  FOREBAY_RETURN_IF_ERROR(
      memory.Grow(2 * file.left() + file.left() / sizeof(FileItem) *
                                        (sizeof(files[0]) + sizeof(rows[0]) +
                                         base::HeapBytes(0))));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.files, &items));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.paths_bytes, &paths));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  FOREBAY_ASSIGN_OR_RETURN(ArrayType type, TypeOf(header));
  const std::uint64_t row_bytes = BytesOf(type);
  std::string_view left = paths;
  files.reserve(items.size());
  rows.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const FileItem& item = items[i];
    if (item.path_bytes > left.size() || !Fits(item, row_bytes))
      return DamagedIndex("file", i);
    storage::ListedObject& listed = files.emplace_back();
    listed.name = left.substr(0, item.path_bytes);
    listed.version.size = item.size;
    listed.version.stamp = item.stamp;
    listed.version.revision.inode = item.inode;
    listed.version.revision.ctime_nanos = item.ctime_nanos;
    rows.push_back({item.rows, item.data_offset});
    left.remove_prefix(item.path_bytes);
  }
  if (!left.empty()) return DamagedIndexFile("has paths of no files");
  return NpyIndex::Create(files, std::move(type), row_bytes, rows, memory);
}

}  // namespace forebay::dataset::npy
