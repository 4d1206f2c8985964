#include "server/storage/inflated/windows.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include <utility>

#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::storage::inflated {
namespace {

// The first byte of a kept window.
constexpr char kStored = 0;
constexpr char kDeflated = 1;

// Deflated windows are at least so much shorter.
constexpr std::size_t kWorthPart = 8;

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

std::string PackWindow(absl::Span<const std::uint8_t> window) {
  std::string kept(1 + compressBound(window.size()), kDeflated);
  uLongf length = kept.size() - 1;
  const int code = compress2(reinterpret_cast<Bytef*>(&kept[1]), &length,
                             window.data(), window.size(), Z_BEST_SPEED);
  if (code == Z_OK && length + window.size() / kWorthPart <= window.size()) {
    kept.resize(1 + length);
    return kept;
  }
  kept.assign(1, kStored);
  kept.append(reinterpret_cast<const char*>(window.data()), window.size());
  return kept;
}

absl::StatusOr<std::string> Windows::Find(const AccessPoint& point) const {
  if (point.window_offset > size_ ||
      point.window_bytes > size_ - point.window_offset ||
      point.window_bytes > kWindowBytes + 1)
    return Damaged();
  if (point.window_bytes == 0) return std::string();
  std::string kept;
  if (file_) {
    kept.resize(point.window_bytes);
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
  } else {
    kept = bytes_.substr(point.window_offset, point.window_bytes);
  }
  if (kept.front() == kStored) {
    kept.erase(0, 1);
    return Checked(std::move(kept), point);
  }
  std::string window(kWindowBytes, '\0');
  uLongf length = window.size();
  if (uncompress(reinterpret_cast<Bytef*>(window.data()), &length,
                 reinterpret_cast<const Bytef*>(&kept[1]),
                 kept.size() - 1) != Z_OK)
    return Damaged();
  window.resize(length);
  return Checked(std::move(window), point);
}

}  // namespace forebay::storage::inflated
