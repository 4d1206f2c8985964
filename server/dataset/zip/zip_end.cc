#include "server/dataset/zip/zip_end.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/zip/little_endian.h"

namespace forebay::dataset::zip {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;

// A record's own length leaves out its signature and itself.
constexpr std::uint64_t kUncounted = 12;  // bytes

absl::Status Split() {
  return absl::UnimplementedError(
      "the archive is split into several files, which is not supported");
}

}  // namespace

std::optional<FoundEnd> FindEnd(absl::Span<const std::uint8_t> tail) {
  if (tail.size() < kEndBytes) return std::nullopt;
  const std::size_t last = tail.size() - kEndBytes;
  const std::size_t first = last - std::min<std::size_t>(last, kLongestComment);
  std::optional<FoundEnd> found;
  for (std::size_t at = last + 1; at-- > first;) {
    if (NumberAt<std::uint32_t>(tail, at) != kEndSignature) continue;
    const std::size_t comment = NumberAt<std::uint16_t>(tail, at + 20);
    if (comment == last - at) return FoundEnd{at, 0};
    if (comment < last - at && !found.has_value()) {
      found = FoundEnd{at, last - at - comment};
    }
  }
  return found;
}

absl::StatusOr<ZipEnd> ParseEnd(absl::Span<const std::uint8_t> record) {
  FOREBAY_CHECK(record.size() == kEndBytes &&
                NumberAt<std::uint32_t>(record, 0) == kEndSignature);
  const auto disk = NumberAt<std::uint16_t>(record, 4);
  const auto directory_disk = NumberAt<std::uint16_t>(record, 6);
  const auto members_here = NumberAt<std::uint16_t>(record, 8);
  const ZipEnd end = {
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

absl::StatusOr<std::optional<std::uint64_t>> ParseLocator(
    absl::Span<const std::uint8_t> locator) {
  FOREBAY_CHECK(locator.size() == kLocatorBytes);
  if (NumberAt<std::uint32_t>(locator, 0) != kLocatorSignature) {
    return std::nullopt;
  }
  // Some writers count no file at all.
  const auto disk = NumberAt<std::uint32_t>(locator, 4);
  const auto disks = NumberAt<std::uint32_t>(locator, 16);
  if (disk != 0 || disks > 1) return Split();
  return NumberAt<std::uint64_t>(locator, 8);
}

absl::StatusOr<std::optional<ZipEnd>> ParseEnd64(
    absl::Span<const std::uint8_t> record, std::uint64_t length) {
  FOREBAY_CHECK(record.size() == kEnd64Bytes && length >= kEnd64Bytes);
  if (NumberAt<std::uint32_t>(record, 0) != kEnd64Signature ||
      NumberAt<std::uint64_t>(record, 4) != length - kUncounted) {
    return std::nullopt;
  }
  const auto disk = NumberAt<std::uint32_t>(record, 16);
  const auto directory_disk = NumberAt<std::uint32_t>(record, 20);
  const auto members_here = NumberAt<std::uint64_t>(record, 24);
  const ZipEnd end = {
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
