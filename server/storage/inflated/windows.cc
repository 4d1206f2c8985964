#include "server/storage/inflated/windows.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include <utility>

#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::storage::inflated {
namespace {

// The first byte of a kept window or piece.
constexpr char kStored = 0;
constexpr char kPacked = 1;

// Packed ones are at least so much shorter.
constexpr std::size_t kWorthPart = 8;

// A window is needed for each read: zstd unpacks it in a fourth of the time
// that zlib takes.
constexpr int kLevel = 1;

absl::Status Damaged() {
  return absl::DataLossError(
      "the file of its access points is damaged: remove it, and open the "
      "dataset anew");
}

absl::StatusOr<std::string> Checked(std::string window,
                                    const AccessPoint& point) {
  const absl::Span<const std::uint8_t> bytes(
      reinterpret_cast<const std::uint8_t*>(window.data()), window.size());
  if (base::Crc32c(bytes) != point.window_crc32c) return Damaged();
  return window;
}

}  // namespace

std::string PackKept(absl::Span<const std::uint8_t> bytes) {
  std::string packed(1 + ZSTD_compressBound(bytes.size()), kPacked);
  const std::size_t length = ZSTD_compress(&packed[1], packed.size() - 1,
                                           bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(length) == 0 &&
      length + bytes.size() / kWorthPart <= bytes.size()) {
    packed.resize(1 + length);
    return packed;
  }
  packed.assign(1, kStored);
  packed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return packed;
}

absl::StatusOr<std::string> Windows::Read(const AccessPoint& point,
                                          std::uint64_t most) const {
  if (point.window_offset > size_ ||
      point.window_bytes > size_ - point.window_offset ||
      point.window_bytes > most + 1)
    return Damaged();
  if (!file_) return bytes_.substr(point.window_offset, point.window_bytes);
  std::string kept(point.window_bytes, '\0');
  std::size_t filled = 0;
  while (filled < kept.size()) {
    const ssize_t got =
        pread(file_.get(), &kept[filled], kept.size() - filled,
              static_cast<off_t>(offset_ + point.window_offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, "its access points");
    if (got == 0) return Damaged();
    filled += static_cast<std::size_t>(got);
  }
  return kept;
}

absl::StatusOr<std::string> Windows::Find(const AccessPoint& point) const {
  if (point.window_bytes == 0) return std::string();
  FOREBAY_ASSIGN_OR_RETURN(std::string kept, Read(point, kWindowBytes));
  if (kept[0] == kStored) {
    kept.erase(0, 1);
    return Checked(std::move(kept), point);
  }
  std::string window(kWindowBytes, '\0');
  const std::size_t length =
      ZSTD_decompress(window.data(), window.size(), &kept[1], kept.size() - 1);
  if (ZSTD_isError(length) != 0) return Damaged();
  window.resize(length);
  return Checked(std::move(window), point);
}

absl::StatusOr<std::string> Windows::FindPiece(const AccessPoint& point,
                                               std::uint64_t length) const {
  if (point.window_bytes == 0 || length > kMostApart) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(std::string kept, Read(point, kMostApart));
  std::string piece;
  if (kept[0] == kStored) {
    piece = std::move(kept);
    piece.erase(0, 1);
  } else {
    piece.resize(length);
    // An error is a number that no length can be.
    if (ZSTD_decompress(piece.data(), piece.size(), &kept[1],
                        kept.size() - 1) != length)
      return Damaged();
  }
  if (piece.size() != length) return Damaged();
  return Checked(std::move(piece), point);
}

}  // namespace forebay::storage::inflated
