#include "server/dataset/compressed/point_file.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/storage/compressed/point_windows.h"

// The file grows while the scan runs: windows and pieces are appended when they
// are found, so that they take no memory. Only the table, with 32 bytes a
// point, is built in memory at the end. The file gets its name last, so a
// reader never finds an incomplete file. If the disk fails at any time, the
// windows and pieces are read back, and stay in memory from then on.

namespace forebay::dataset::compressed {
namespace {

using storage::compressed::AccessPoint;
using storage::compressed::CompressedFile;
using storage::compressed::DecompressedFile;
using storage::compressed::FilePoints;
using storage::compressed::FilePointsParts;
using storage::compressed::PointWindows;

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'P', 'O', 'I', 'N', 'T'}, 2, 0};

// The header of the table; the numbers count items, or bytes.
struct Header {
  IndexFileType type;
  std::uint64_t files;
  std::uint64_t points;
  std::uint64_t names_bytes;
  std::uint64_t windows_bytes;
};
static_assert(sizeof(Header) == 48);

// The number of bytes that the table's length takes at the file's end.
constexpr std::uint64_t kLengthBytes = sizeof(std::uint64_t);
// The largest table, in bytes. With a point of 32 bytes in each mebibyte, this
// suffices for some 500 TB.
constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 34;  // bytes

// Returns the table in the form of an index file.
std::string EncodeTable(const FilePointsParts& parts,
                        std::uint64_t windows_bytes) {
  Header header = {};
  header.type = kType;
  header.files = parts.files.size();
  header.points = parts.points.size();
  header.names_bytes = parts.names.size();
  header.windows_bytes = windows_bytes;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.files);
  AppendItems(bytes, parts.points);
  bytes += parts.names;
  SealIndexFile(bytes);
  return bytes;
}

// Returns the free bytes of the file's disk. Returns 0 if the disk does not
// tell.
std::uint64_t FreeBytes(const std::string& path) {
  struct statvfs disk = {};
  const std::string folder = path.substr(0, path.rfind('/'));
  if (statvfs(folder.c_str(), &disk) != 0) return 0;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

// Reads only the table. Windows and pieces stay in the file.
absl::StatusOr<PointsPtr> Decode(OwnFile file, base::WorkingMemory& memory) {
  std::uint64_t table_bytes = 0;
  if (file.size < kLengthBytes) return DamagedIndexFile("is too short");
  FOREBAY_RETURN_IF_ERROR(
      ReadAt(file, file.size - kLengthBytes,
             {reinterpret_cast<std::uint8_t*>(&table_bytes), kLengthBytes}));
  const std::uint64_t before = file.size - kLengthBytes;
  if (table_bytes > std::min(before, kLargestTable))
    return DamagedIndexFile("has a table of another length");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(table_bytes));
  std::vector<std::uint8_t> table(table_bytes);
  FOREBAY_RETURN_IF_ERROR(
      ReadAt(file, before - table_bytes, absl::MakeSpan(table)));
  IndexFileReader reader(table);
  FOREBAY_ASSIGN_OR_RETURN(const Header header,
                           reader.TakeHeader<Header>(kType));
  FilePointsParts parts;
  // The reservation is computed from the table's length, since the counts in
  // the table may be damaged.
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(FilePoints::Bytes(reader.left() / sizeof(CompressedFile),
                                    reader.left() / sizeof(AccessPoint),
                                    reader.left())));
  FOREBAY_RETURN_IF_ERROR(reader.TakeItems(header.files, &parts.files));
  FOREBAY_RETURN_IF_ERROR(reader.TakeItems(header.points, &parts.points));
  FOREBAY_RETURN_IF_ERROR(reader.TakeItems(header.names_bytes, &parts.names));
  FOREBAY_RETURN_IF_ERROR(reader.Finish());
  if (header.windows_bytes != before - table_bytes)
    return DamagedIndexFile("has counts that do not match its length");
  parts.reservation.ShrinkTo(std::min(
      parts.reservation.bytes(),
      FilePoints::Bytes(header.files, header.points, header.names_bytes)));
  parts.windows = std::make_shared<const PointWindows>(std::move(file.fd), 0,
                                                       header.windows_bytes);
  return FilePoints::Create(std::move(parts));
}

}  // namespace

absl::StatusOr<std::uint64_t> PointFileWriter::Add(std::string_view window) {
  if (!std::exchange(begun_, true) && !path_.empty()) {
    auto file = NewOwnFile::Create(path_);
    if (file.ok()) file_.emplace(*std::move(file));
    room_for_pieces_ = FreeBytes(path_) / kDiskPart;
  }
  if (file_.has_value()) {
    const std::uint64_t at = file_->size();
    if (file_->Append(window).ok()) return at;
    // The disk may be full, so this window and all later ones are kept in
    // memory.
    FOREBAY_RETURN_IF_ERROR(MoveToMemory());
  }
  const std::uint64_t at = windows_.size();
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(windows_, window.size()));
  windows_ += window;
  return at;
}

absl::Status PointFileWriter::MoveToMemory() {
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(windows_, file_->size()));
  windows_.resize(file_->size());
  FOREBAY_RETURN_IF_ERROR(file_->ReadFirst(absl::MakeSpan(windows_)));
  file_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> PointFileWriter::AddPiece(
    std::string_view piece) {
  FOREBAY_RETURN_IF_ERROR(Add({}).status());  // sets room_for_pieces_
  if (file_.has_value()) {
    if (piece.size() > room_for_pieces_) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": would take more than 1/", kDiskPart,
                       " of what was free on the disk"));
    }
    room_for_pieces_ -= piece.size();
  }
  return Add(piece);
}

absl::StatusOr<PointsPtr> PointFileWriter::Finish(
    absl::Span<const storage::ListedObject> files,
    std::vector<std::optional<DecompressedFile>> compressed_files) {
  FOREBAY_CHECK(compressed_files.size() == files.size());
  std::uint64_t compressed = 0;
  std::uint64_t points = 0;
  std::uint64_t names = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!compressed_files[i].has_value()) continue;
    ++compressed;
    points += compressed_files[i]->points.size();
    names += files[i].name.size();
  }
  if (compressed == 0) return nullptr;
  FOREBAY_RETURN_IF_ERROR(Add({}).status());  // creates the file
  FilePointsParts parts;
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation, memory_->Keep(FilePoints::Bytes(
                             compressed, points, names + windows_.capacity())));
  parts.files.reserve(compressed);
  parts.points.reserve(points);
  parts.names.reserve(names);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!compressed_files[i].has_value()) continue;
    const DecompressedFile file =
        *std::exchange(compressed_files[i], std::nullopt);
    parts.files.push_back({.name_offset = parts.names.size(),
                           .name_length = files[i].name.size(),
                           .compressed_size = files[i].version.size,
                           .size = file.size,
                           .first_point = parts.points.size(),
                           .compression = file.compression,
                           .pieces_crc32c = file.pieces_crc32c});
    parts.names += files[i].name;
    parts.points.insert(parts.points.end(), file.points.begin(),
                        file.points.end());
  }
  if (file_.has_value()) {
    auto windows = Keep(parts);
    if (windows.ok()) {
      parts.windows = *std::move(windows);
      return FilePoints::Create(std::move(parts));
    }
    // The disk may be full, so the points stay in memory this time.
    FOREBAY_RETURN_IF_ERROR(MoveToMemory());
    FOREBAY_ASSIGN_OR_RETURN(auto more, memory_->Keep(windows_.capacity()));
    parts.reservation.Add(std::move(more));
  }
  parts.windows = std::make_shared<const PointWindows>(std::move(windows_));
  return FilePoints::Create(std::move(parts));
}

absl::StatusOr<std::shared_ptr<const PointWindows>> PointFileWriter::Keep(
    const FilePointsParts& parts) {
  const std::uint64_t windows_bytes = file_->size();
  std::string table = EncodeTable(parts, windows_bytes);
  const std::uint64_t table_bytes = table.size();
  table.append(reinterpret_cast<const char*>(&table_bytes), kLengthBytes);
  FOREBAY_RETURN_IF_ERROR(file_->Append(table));
  FOREBAY_ASSIGN_OR_RETURN(base::Fd fd, file_->Keep());
  return std::make_shared<const PointWindows>(std::move(fd), 0, windows_bytes);
}

absl::StatusOr<PointsPtr> LoadPoints(const std::string& path,
                                     base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(OwnFile file, OpenOwnFile(path));
  auto points = Decode(std::move(file), memory);
  if (!points.ok()) return base::Annotate(points.status(), path);
  return points;
}

void AppendPoints(std::string& bytes, const PointsPtr& points) {
  if (points == nullptr) return;
  const FilePoints::Digest& digest = points->digest();
  bytes.append(reinterpret_cast<const char*>(digest.data()), sizeof(digest));
}

absl::StatusOr<PointsPtr> TakePoints(IndexFileReader& file,
                                     const FindPoints& find) {
  if (file.left() == 0) return nullptr;
  std::vector<std::uint64_t> digest;
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(std::tuple_size_v<FilePoints::Digest>, &digest));
  if (find == nullptr) return DamagedIndexFile("lacks its access points");
  FOREBAY_ASSIGN_OR_RETURN(PointsPtr points, find());
  if (!std::equal(digest.begin(), digest.end(), points->digest().begin()))
    return DamagedIndexFile("has access points of another index");
  return points;
}

}  // namespace forebay::dataset::compressed
