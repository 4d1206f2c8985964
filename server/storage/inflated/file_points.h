#ifndef FOREBAY_SERVER_STORAGE_INFLATED_FILE_POINTS_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_FILE_POINTS_H_

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
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/packing.h"
#include "server/storage/inflated/windows.h"

namespace forebay::storage::inflated {

// A compressed file. Its points follow those of the file before it.
struct PackedFile {
  std::uint64_t name_offset = 0;  // bytes into the names
  std::uint64_t name_length = 0;  // bytes
  std::uint64_t packed_size = 0;  // bytes, of its version
  std::uint64_t size = 0;         // bytes that it inflates to
  std::uint64_t first_point = 0;
  Packing packing = Packing::kGzip;
  std::uint32_t pieces_crc32c = 0;  // see PieceDigest
};
static_assert(sizeof(PackedFile) == 48);

// The parts of FilePoints.
struct FilePointsParts {
  std::vector<PackedFile> files;
  std::string names;
  std::vector<AccessPoint> points;  // of all files
  std::shared_ptr<const Windows> windows;
  // Of at least FilePoints::Bytes.
  base::MemoryReservation reservation = {};
};

// The access points of all compressed files of a dataset: 32 bytes for a
// megabyte of inflated bytes, besides the windows. Holds a reservation for
// them. Immutable and thread-safe. WindowOf and PieceOf block.
class FilePoints {
 public:
  using Digest = std::array<std::uint64_t, 2>;

  // DATA_LOSS, with a reason alone: the parts do not fit together. They may
  // come from a damaged file.
  static absl::StatusOr<std::shared_ptr<const FilePoints>> Create(
      FilePointsParts parts);

  // Returns null if no file of that name is compressed.
  const PackedFile* Find(std::string_view name) const;
  // At least one; the first one has offset 0. They ascend.
  absl::Span<const AccessPoint> PointsOf(const PackedFile& file) const;
  // Whether some of what it inflates to is kept.
  bool KeepsPieces(const PackedFile& file) const {
    return HasPieces(file.packing, PointsOf(file));
  }
  // Errors: those of Windows.
  absl::StatusOr<std::string> WindowOf(const AccessPoint& point) const {
    return parts_.windows->Find(point);
  }
  // Of a point that has one of that length.
  absl::StatusOr<std::string> PieceOf(const AccessPoint& point,
                                      std::uint64_t length) const {
    return parts_.windows->FindPiece(point, length);
  }

  // Tells apart points of other files, or of files that were compressed anew.
  const Digest& digest() const { return digest_; }
  const FilePointsParts& parts() const { return parts_; }

  // Bytes of memory of so many, besides the windows.
  static std::uint64_t Bytes(std::uint64_t files, std::uint64_t points,
                             std::uint64_t names);

 private:
  explicit FilePoints(FilePointsParts parts) : parts_(std::move(parts)) {}

  absl::Status Check() const;
  std::uint64_t EndOf(std::size_t file) const;
  std::string_view NameOf(const PackedFile& file) const;

  const FilePointsParts parts_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  Digest digest_ = {};
};

// Bytes of memory that are reserved for `points`; 0 for null.
inline std::uint64_t MemoryOf(const std::shared_ptr<const FilePoints>& points) {
  return points == nullptr ? 0 : points->parts().reservation.bytes();
}

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_FILE_POINTS_H_
