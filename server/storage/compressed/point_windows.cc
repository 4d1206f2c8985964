#include "server/storage/compressed/point_windows.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include <utility>

#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::storage::compressed {
namespace {

// The first byte of a kept window or piece tells whether zstd has compressed
// the rest.
constexpr char kStored = 0;
constexpr char kCompressed = 1;

// A window or piece is kept compressed if that saves at least one part in
// kWorthPart.
constexpr std::size_t kWorthPart = 8;

// The level of zstd. Each read decompresses a window, which takes zstd a fourth
// of the time that zlib takes.
constexpr int kLevel = 1;

// Returns the error of a store that lacks a window or piece of its points.
absl::Status Damaged() {
  return absl::DataLossError(
      "the file of its access points is damaged: remove it, and open the "
      "dataset anew");
}

// Returns the window or piece if it has the checksum of its point.
absl::StatusOr<std::string> Checked(std::string window,
                                    const AccessPoint& point) {
  const absl::Span<const std::uint8_t> bytes(
      reinterpret_cast<const std::uint8_t*>(window.data()), window.size());
  if (base::Crc32c(bytes) != point.window_crc32c) return Damaged();
  return window;
}

}  // namespace

std::string CompressOrStore(absl::Span<const std::uint8_t> bytes) {
  std::string compressed(1 + ZSTD_compressBound(bytes.size()), kCompressed);
  const std::size_t length =
      ZSTD_compress(&compressed[1], compressed.size() - 1, bytes.data(),
                    bytes.size(), kLevel);
  if (ZSTD_isError(length) == 0 &&
      length + bytes.size() / kWorthPart <= bytes.size()) {
    compressed.resize(1 + length);
    return compressed;
  }
  compressed.assign(1, kStored);
  compressed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return compressed;
}

absl::StatusOr<std::string> PointWindows::Read(const AccessPoint& point,
                                               std::uint64_t most) const {
  if (point.window_offset > size_ ||
      point.window_bytes > size_ - point.window_offset ||
      point.window_bytes > most + 1)
    return Damaged();
  if (!file_) return bytes_.substr(point.window_offset, point.window_bytes);
  std::string stored_bytes(point.window_bytes, '\0');
  std::size_t filled = 0;
  while (filled < stored_bytes.size()) {
    const ssize_t got =
        pread(file_.get(), &stored_bytes[filled], stored_bytes.size() - filled,
              static_cast<off_t>(offset_ + point.window_offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, "its access points");
    if (got == 0) return Damaged();
    filled += static_cast<std::size_t>(got);
  }
  return stored_bytes;
}

absl::StatusOr<std::string> PointWindows::Find(const AccessPoint& point) const {
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

absl::StatusOr<std::string> PointWindows::FindPiece(
    const AccessPoint& point, std::uint64_t length) const {
  if (point.window_bytes == 0 || length > kMostApart) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(std::string kept, Read(point, kMostApart));
  std::string piece;
  if (kept[0] == kStored) {
    piece = std::move(kept);
    piece.erase(0, 1);
  } else {
    piece.resize(length);
    // ZSTD_decompress returns an error as a number that no length equals.
    if (ZSTD_decompress(piece.data(), piece.size(), &kept[1],
                        kept.size() - 1) != length)
      return Damaged();
  }
  if (piece.size() != length) return Damaged();
  return Checked(std::move(piece), point);
}

}  // namespace forebay::storage::compressed
