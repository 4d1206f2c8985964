#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_FILE_POINTS_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_FILE_POINTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/point_windows.h"

namespace forebay::storage::compressed {

// A compressed file of a dataset. In FilePointsParts::points, its access points
// follow those of the previous file.
struct CompressedFile {
  // The place of the file's name in FilePointsParts::names, in bytes.
  std::uint64_t name_offset = 0;
  std::uint64_t name_length = 0;  // bytes
  // The bytes that the file itself has, as its version says.
  std::uint64_t compressed_size = 0;
  // The bytes that the file decompresses to.
  std::uint64_t size = 0;
  // The index of the file's first point among the points of all files.
  std::uint64_t first_point = 0;
  Compression compression = Compression::kGzip;
  // The digest of the file's pieces, by PieceDigest.
  std::uint32_t pieces_crc32c = 0;
};
static_assert(sizeof(CompressedFile) == 48);

// The parts that FilePoints is made of.
struct FilePointsParts {
  std::vector<CompressedFile> files;
  // The names of all files, one after another.
  std::string names;
  // The access points of all files, in the order of `files`.
  std::vector<AccessPoint> points;
  std::shared_ptr<const PointWindows> windows;
  // Reserves at least FilePoints::Bytes bytes of memory.
  base::MemoryReservation reservation = {};
};

// The access points of all compressed files of a dataset. They take 32 bytes
// for a megabyte of decompressed bytes, besides the windows.
//
// Thread-safe and immutable; all readers of the dataset share it. The object
// owns the reservation of its memory. WindowOf and PieceOf block for the disk.
// Errors are those of Create and of PointWindows.
class FilePoints {
 public:
  using Digest = std::array<std::uint64_t, 2>;

  // Returns the points. DATA_LOSS: the parts do not fit together; the message
  // is only the reason. The parts may come from a damaged file.
  static absl::StatusOr<std::shared_ptr<const FilePoints>> Create(
      FilePointsParts parts);

  // Returns the file of that name, or null if no such file is compressed.
  const CompressedFile* Find(std::string_view name) const;
  // Returns the file's points in ascending order: at least one, and the first
  // has offset 0.
  absl::Span<const AccessPoint> PointsOf(const CompressedFile& file) const;
  // Whether pieces of the decompressed file are kept.
  bool KeepsPieces(const CompressedFile& file) const {
    return HasPieces(file.compression, PointsOf(file));
  }
  // Returns the window of a point. Errors are those of PointWindows.
  absl::StatusOr<std::string> WindowOf(const AccessPoint& point) const {
    return parts_.windows->Find(point);
  }
  // Returns the piece, of `length` bytes, of a point that has one.
  absl::StatusOr<std::string> PieceOf(const AccessPoint& point,
                                      std::uint64_t length) const {
    return parts_.windows->FindPiece(point, length);
  }

  // Returns a digest of files, names and points. The digest differs for other
  // files, and for files that were compressed again.
  const Digest& digest() const { return digest_; }
  const FilePointsParts& parts() const { return parts_; }

  // Returns the bytes of memory that `files` files, `points` points and `names`
  // bytes of names take, without the windows.
  static std::uint64_t Bytes(std::uint64_t files, std::uint64_t points,
                             std::uint64_t names);

 private:
  explicit FilePoints(FilePointsParts parts) : parts_(std::move(parts)) {}

  // Checks that no offset or index in one part leads outside of another part.
  absl::Status Check() const;
  // Returns the index after the last point of the file with the index `file`.
  std::uint64_t EndOf(std::size_t file) const;
  std::string_view NameOf(const CompressedFile& file) const;

  const FilePointsParts parts_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  Digest digest_ = {};
};

// Returns the memory that is reserved for `points`, in bytes; 0 if it is null.
inline std::uint64_t MemoryOf(const std::shared_ptr<const FilePoints>& points) {
  return points == nullptr ? 0 : points->parts().reservation.bytes();
}

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_FILE_POINTS_H_
