#include "server/storage/compressed/file_points.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::storage::compressed {
namespace {

// The bytes that an entry of `by_name_` takes, with its node and bucket.
constexpr std::uint64_t kEntryBytes = 64;

absl::Status Damaged(std::string_view what, std::uint64_t number) {
  return absl::DataLossError(absl::StrCat("access points: ", std::string(what),
                                          " ", number, " is damaged"));
}

// Whether `point` can directly follow `last`.
bool Follows(Compression compression, const AccessPoint& last,
             const AccessPoint& point) {
  if (point.offset <= last.offset) return false;
  // A zstd decoder takes whole blocks. A block may hold bytes of two pieces, so
  // two points may have the same bit.
  if (compression == Compression::kZstd && point.bit == last.bit) return true;
  return point.bit > last.bit;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FilePoints>> FilePoints::Create(
    FilePointsParts parts) {
  FOREBAY_CHECK(parts.windows != nullptr);
  std::shared_ptr<FilePoints> points(new FilePoints(std::move(parts)));
  FOREBAY_RETURN_IF_ERROR(points->Check());
  const FilePointsParts& all = points->parts_;
  for (std::size_t i = 0; i < all.files.size(); ++i)
    points->by_name_[points->NameOf(all.files[i])] = i;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, all.files.data(),
                      all.files.size() * sizeof(CompressedFile));
  XXH3_128bits_update(&state, all.names.data(), all.names.size());
  XXH3_128bits_update(&state, all.points.data(),
                      all.points.size() * sizeof(AccessPoint));
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  points->digest_ = {digest.high64, digest.low64};
  return points;
}

// The checks are made once, so that readers may trust all numbers: the parts
// may come from a file that another process has damaged.
absl::Status FilePoints::Check() const {
  const auto& files = parts_.files;
  const std::uint64_t names = parts_.names.size();
  if (files.empty() ? !parts_.points.empty() : files.front().first_point != 0)
    return Damaged("the first point of file", 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const CompressedFile& file = files[i];
    if (file.name_offset > names ||
        file.name_length > names - file.name_offset ||
        file.compression > Compression::kZstd)
      return Damaged("file", i);
    if (file.first_point >= EndOf(i) || EndOf(i) > parts_.points.size())
      return Damaged("the first point of file", i);
    const auto points = PointsOf(file);
    // Skippable frames may lie before the first frame of a zstd file. The last
    // point of a zstd file may lie at the end of all compressed bytes.
    const bool is_zstd = file.compression == Compression::kZstd;
    // The bound keeps the number of a bit from overflowing.
    if (file.compressed_size > UINT64_MAX / 16 || points.front().offset != 0 ||
        (points.front().bit != 0 && !is_zstd) ||
        points.back().offset > file.size ||
        points.back().bit > file.compressed_size * 8 ||
        (points.back().bit == file.compressed_size * 8 && !is_zstd))
      return Damaged("the size of file", i);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const AccessPoint& point = points[k];
      const std::uint64_t windows = parts_.windows->size();
      const std::uint64_t next =
          k + 1 < points.size() ? points[k + 1].offset : file.size;
      if ((k > 0 && !Follows(file.compression, points[k - 1], point)) ||
          (HasPiece(file.compression, point) &&
           next - point.offset > kMostApart) ||
          (point.window_bytes == 0 && point.bit % 8 != 0) ||
          point.window_offset > windows ||
          point.window_bytes > windows - point.window_offset)
        return Damaged("point", file.first_point + k);
    }
  }
  return absl::OkStatus();
}

std::uint64_t FilePoints::EndOf(std::size_t file) const {
  return file + 1 < parts_.files.size() ? parts_.files[file + 1].first_point
                                        : parts_.points.size();
}

std::string_view FilePoints::NameOf(const CompressedFile& file) const {
  return std::string_view(parts_.names)
      .substr(file.name_offset, file.name_length);
}

const CompressedFile* FilePoints::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &parts_.files[found->second];
}

absl::Span<const AccessPoint> FilePoints::PointsOf(
    const CompressedFile& file) const {
  const auto number = static_cast<std::size_t>(&file - parts_.files.data());
  return absl::MakeConstSpan(parts_.points)
      .subspan(file.first_point, EndOf(number) - file.first_point);
}

std::uint64_t FilePoints::Bytes(std::uint64_t files, std::uint64_t points,
                                std::uint64_t names) {
  return sizeof(FilePoints) + files * (sizeof(CompressedFile) + kEntryBytes) +
         points * sizeof(AccessPoint) + names;
}

}  // namespace forebay::storage::compressed
