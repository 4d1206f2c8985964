#include "server/dataset/zip/eocd.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/zip/little_endian.h"

namespace forebay::dataset::zip {
namespace {

// Signatures of the EOCD, the locator and the EOCD64 (APPNOTE 4.3.16, 4.3.15,
// 4.3.14).
constexpr std::uint32_t kEocdSignature = 0x06054b50;
constexpr std::uint32_t kEocd64LocatorSignature = 0x07064b50;
constexpr std::uint32_t kEocd64Signature = 0x06064b50;

// The size that an EOCD64 states does not include its signature and the size
// field, which have this many bytes (APPNOTE 4.3.14.1).
constexpr std::uint64_t kUncounted = 12;

// Returns the error of an archive whose parts lie in several files.
absl::Status Split() {
  return absl::UnimplementedError(
      "the archive is split into several files, which is not supported");
}

}  // namespace

std::optional<EocdPlace> FindEocd(absl::Span<const std::uint8_t> tail) {
  if (tail.size() < kEocdBytes) return std::nullopt;
  const std::size_t last = tail.size() - kEocdBytes;
  const std::size_t first = last - std::min<std::size_t>(last, kLongestComment);
  std::optional<EocdPlace> found;
  for (std::size_t at = last + 1; at-- > first;) {
    if (NumberAt<std::uint32_t>(tail, at) != kEocdSignature) continue;
    // ".ZIP file comment length", the last field.
    const std::size_t comment = NumberAt<std::uint16_t>(tail, at + 20);
    if (comment == last - at) return EocdPlace{at, 0};
    if (comment < last - at && !found.has_value()) {
      found = EocdPlace{at, last - at - comment};
    }
  }
  return found;
}

absl::StatusOr<Eocd> ParseEocd(absl::Span<const std::uint8_t> record) {
  FOREBAY_CHECK(record.size() == kEocdBytes &&
                NumberAt<std::uint32_t>(record, 0) == kEocdSignature);
  // Fields in order: the number of this disk, the disk of the directory's
  // start, the entries on this disk, all entries, size and offset of the
  // directory.
  const auto disk = NumberAt<std::uint16_t>(record, 4);
  const auto directory_disk = NumberAt<std::uint16_t>(record, 6);
  const auto members_here = NumberAt<std::uint16_t>(record, 8);
  const Eocd end = {
      .directory_offset = NumberAt<std::uint32_t>(record, 16),
      .directory_bytes = NumberAt<std::uint32_t>(record, 12),
      .members = NumberAt<std::uint16_t>(record, 10),
      .short_count = true,
  };
  if (disk != 0 || directory_disk != 0 || members_here != end.members) {
    return Split();
  }
  return end;
}

absl::StatusOr<std::optional<std::uint64_t>> ParseEocd64Locator(
    absl::Span<const std::uint8_t> locator) {
  FOREBAY_CHECK(locator.size() == kEocd64LocatorBytes);
  if (NumberAt<std::uint32_t>(locator, 0) != kEocd64LocatorSignature) {
    return std::nullopt;
  }
  // "Total number of disks" is 1; some writers state 0.
  const auto disk = NumberAt<std::uint32_t>(locator, 4);
  const auto disks = NumberAt<std::uint32_t>(locator, 16);
  if (disk != 0 || disks > 1) return Split();
  return NumberAt<std::uint64_t>(locator, 8);
}

absl::StatusOr<std::optional<Eocd>> ParseEocd64(
    absl::Span<const std::uint8_t> record, std::uint64_t length) {
  FOREBAY_CHECK(record.size() == kEocd64Bytes && length >= kEocd64Bytes);
  if (NumberAt<std::uint32_t>(record, 0) != kEocd64Signature ||
      NumberAt<std::uint64_t>(record, 4) != length - kUncounted) {
    return std::nullopt;
  }
  // From byte 16 on, the fields are those of an EOCD, but wider. The versions,
  // at bytes 12 and 14, do not matter here.
  const auto disk = NumberAt<std::uint32_t>(record, 16);
  const auto directory_disk = NumberAt<std::uint32_t>(record, 20);
  const auto members_here = NumberAt<std::uint64_t>(record, 24);
  const Eocd end = {
      .directory_offset = NumberAt<std::uint64_t>(record, 48),
      .directory_bytes = NumberAt<std::uint64_t>(record, 40),
      .members = NumberAt<std::uint64_t>(record, 32),
  };
  if (disk != 0 || directory_disk != 0 || members_here != end.members) {
    return Split();
  }
  return end;
}

}  // namespace forebay::dataset::zip
