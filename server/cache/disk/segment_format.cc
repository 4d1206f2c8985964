#include "server/cache/disk/segment_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "server/base/crc32c.h"

namespace forebay::cache::disk {
namespace {

// Names have 16 hexadecimal digits, so that they sort like the serials.
constexpr std::string_view kNamePrefix = "segment-";
constexpr std::size_t kNameDigits = 16;

constexpr std::uint64_t kHeaderMagic = 0x4745'5359'4245'5246;  // "FREBYSEG"
constexpr std::uint64_t kTailMagic = 0x4c49'4154'4745'5346;    // "FSEGTAIL"
// The version of the format. Segments of another version are removed when the
// daemon starts.
constexpr std::uint32_t kFormat = 2;

// The header, as it lies on the disk. Zeros fill the rest of its page.
struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t crc;  // of the header, with this field as 0
  std::uint64_t serial;
  std::uint64_t bytes;
};
static_assert(std::is_trivially_copyable_v<SegmentHeader>);

// The last bytes of a footer, and of the file. The records' locations lie right
// before the tail. Zeros before the locations fill the footer's first page.
struct Tail {
  std::uint64_t magic;
  std::uint64_t serial;
  std::uint32_t records;
  std::uint32_t crc;  // of the locations, then the tail with this field as 0
};
static_assert(std::is_trivially_copyable_v<Tail>);
static_assert(sizeof(RecordLocation) == 16 &&
              std::is_trivially_copyable_v<RecordLocation>);

template <typename Item>
absl::Span<const std::uint8_t> BytesOf(const Item& item) {
  return {reinterpret_cast<const std::uint8_t*>(&item), sizeof(item)};
}

std::uint32_t CrcOf(SegmentHeader header) {
  header.crc = 0;
  return base::Crc32c(BytesOf(header));
}

// Returns the checksum of a footer whose locations have the checksum
// `locations_crc`.
std::uint32_t CrcOf(std::uint32_t locations_crc, Tail tail) {
  tail.crc = 0;
  return base::Crc32c(BytesOf(tail), locations_crc);
}

// Returns the tail of segment `serial`, or nullopt if `bytes` do not end with
// it.
std::optional<Tail> TailAt(absl::Span<const std::uint8_t> bytes,
                           std::uint64_t serial) {
  Tail tail;
  if (bytes.size() < sizeof(tail)) return std::nullopt;
  std::memcpy(&tail, bytes.data() + bytes.size() - sizeof(tail), sizeof(tail));
  if (tail.magic != kTailMagic || tail.serial != serial) return std::nullopt;
  return tail;
}

// Returns whether a record can lie at the location and end at `end` or before.
bool IsWithin(const RecordLocation& location, std::uint64_t end) {
  return location.offset % kRecordAlignment == 0 &&
         location.offset >= kPageBytes && location.bytes > kRecordHeaderBytes &&
         location.bytes % kRecordAlignment == 0 &&
         std::uint64_t{location.offset} + location.bytes <= end;
}

}  // namespace

std::string SegmentName(std::uint64_t serial) {
  std::array<char, kNameDigits> digits;
  const char* const end =
      std::to_chars(digits.begin(), digits.end(), serial, 16).ptr;
  const std::string_view number(digits.data(), end - digits.data());
  std::string name(kNamePrefix);
  name.append(kNameDigits - number.size(), '0');
  name += number;
  return name;
}

std::optional<std::uint64_t> SerialOf(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kNamePrefix.size());
  std::uint64_t serial = 0;
  const auto read =
      std::from_chars(digits.data(), digits.data() + digits.size(), serial, 16);
  if (read.ec != std::errc() || SegmentName(serial) != name) {
    return std::nullopt;
  }
  return serial;
}

std::string EncodeSegmentHeader(std::uint64_t serial, std::uint64_t bytes) {
  SegmentHeader header = {kHeaderMagic, kFormat, 0, serial, bytes};
  header.crc = CrcOf(header);
  std::string page(reinterpret_cast<const char*>(&header), sizeof(header));
  page.resize(kPageBytes);
  return page;
}

bool IsSegmentHeader(absl::Span<const std::uint8_t> page, std::uint64_t serial,
                     std::uint64_t bytes) {
  SegmentHeader header;
  if (page.size() < sizeof(header)) return false;
  std::memcpy(&header, page.data(), sizeof(header));
  return header.magic == kHeaderMagic && header.format == kFormat &&
         header.crc == CrcOf(header) && header.serial == serial &&
         header.bytes == bytes && bytes % kPageBytes == 0 &&
         bytes >= 2 * kPageBytes && bytes <= kMaxSegmentBytes;
}

std::uint64_t FooterBytes(std::uint64_t records) {
  return RoundUp(records * sizeof(RecordLocation) + sizeof(Tail), kPageBytes);
}

std::string EncodeFooter(std::uint64_t serial,
                         absl::Span<const RecordLocation> locations) {
  const std::string_view listed(reinterpret_cast<const char*>(locations.data()),
                                locations.size() * sizeof(RecordLocation));
  Tail tail = {kTailMagic, serial, static_cast<std::uint32_t>(locations.size()),
               0};
  tail.crc =
      CrcOf(base::Crc32c({reinterpret_cast<const std::uint8_t*>(listed.data()),
                          listed.size()}),
            tail);
  std::string footer(
      FooterBytes(locations.size()) - listed.size() - sizeof(tail), '\0');
  footer += listed;
  footer.append(reinterpret_cast<const char*>(&tail), sizeof(tail));
  return footer;
}

std::optional<std::uint64_t> FooterBytesAt(
    absl::Span<const std::uint8_t> last_page, std::uint64_t serial,
    std::uint64_t segment_bytes) {
  const std::optional<Tail> tail = TailAt(last_page, serial);
  if (!tail.has_value()) return std::nullopt;
  const std::uint64_t bytes = FooterBytes(tail->records);
  if (bytes + kPageBytes > segment_bytes) return std::nullopt;
  return bytes;
}

bool HasFooterChecksum(absl::Span<const std::uint8_t> last_page,
                       std::uint64_t segment_bytes, const ReadPiece& read) {
  // The tail is copied: the page is valid only until the next read.
  Tail tail;
  std::memcpy(&tail, last_page.data() + last_page.size() - sizeof(tail),
              sizeof(tail));
  std::uint64_t left = tail.records * sizeof(RecordLocation);
  std::uint64_t at = segment_bytes - sizeof(tail) - left;
  std::uint32_t crc = 0;
  while (left > 0) {
    const auto piece =
        read(at, std::min<std::uint64_t>(left, kFooterPieceBytes));
    if (piece.empty()) return false;
    crc = base::Crc32c(piece, crc);
    at += piece.size();
    left -= piece.size();
  }
  return tail.crc == CrcOf(crc, tail);
}

std::optional<std::vector<RecordLocation>> ParseFooter(
    absl::Span<const std::uint8_t> footer, std::uint64_t serial,
    std::uint64_t segment_bytes) {
  const std::optional<Tail> tail = TailAt(footer, serial);
  if (!tail.has_value() || footer.size() != FooterBytes(tail->records) ||
      footer.size() > segment_bytes) {
    return std::nullopt;
  }
  const std::size_t listed = tail->records * sizeof(RecordLocation);
  const auto locations_bytes =
      footer.subspan(footer.size() - sizeof(Tail) - listed, listed);
  if (tail->crc != CrcOf(base::Crc32c(locations_bytes), *tail))
    return std::nullopt;
  std::vector<RecordLocation> locations(tail->records);
  if (!locations.empty()) {
    std::memcpy(locations.data(), locations_bytes.data(),
                locations_bytes.size());
  }
  for (const RecordLocation& location : locations) {
    if (!IsWithin(location, segment_bytes - footer.size())) return std::nullopt;
  }
  return locations;
}

}  // namespace forebay::cache::disk
