#include "server/cache/disk/segment_format.h"

#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "server/base/crc32c.h"

namespace forebay::cache::disk {
namespace {

constexpr std::string_view kNamePrefix = "segment-";
constexpr std::size_t kNameDigits = 16;

constexpr std::uint64_t kHeadMagic = 0x4745'5359'4245'5246;  // "FREBYSEG"
constexpr std::uint64_t kTailMagic = 0x4c49'4154'4745'5346;  // "FSEGTAIL"
constexpr std::uint32_t kFormat = 2;

struct Head {
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t crc;  // of the head, this number left out
  std::uint64_t serial;
  std::uint64_t bytes;
};
static_assert(std::is_trivially_copyable_v<Head>);

// The last bytes of a footer, and of the file.
struct Tail {
  std::uint64_t magic;
  std::uint64_t serial;
  std::uint32_t records;
  std::uint32_t crc;  // of the places and the tail, this number left out
};
static_assert(std::is_trivially_copyable_v<Tail>);
static_assert(sizeof(RecordLocation) == 16 &&
              std::is_trivially_copyable_v<RecordLocation>);

template <typename Item>
absl::Span<const std::uint8_t> BytesOf(const Item& item) {
  return {reinterpret_cast<const std::uint8_t*>(&item), sizeof(item)};
}

std::uint32_t CrcOf(Head head) {
  head.crc = 0;
  return base::Crc32c(BytesOf(head));
}

std::uint32_t CrcOf(absl::Span<const std::uint8_t> places, Tail tail) {
  tail.crc = 0;
  return base::Crc32c(BytesOf(tail), base::Crc32c(places));
}

// The tail of that segment, if `bytes` end with one.
std::optional<Tail> TailAt(absl::Span<const std::uint8_t> bytes,
                           std::uint64_t serial) {
  Tail tail;
  if (bytes.size() < sizeof(tail)) return std::nullopt;
  std::memcpy(&tail, bytes.data() + bytes.size() - sizeof(tail), sizeof(tail));
  if (tail.magic != kTailMagic || tail.serial != serial) return std::nullopt;
  return tail;
}

bool IsWithin(const RecordLocation& place, std::uint64_t end) {
  return place.offset % kRecordAlignment == 0 && place.offset >= kPageBytes &&
         place.bytes > kFrontBytes && place.bytes % kRecordAlignment == 0 &&
         std::uint64_t{place.offset} + place.bytes <= end;
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

std::string EncodeHead(std::uint64_t serial, std::uint64_t bytes) {
  Head head = {kHeadMagic, kFormat, 0, serial, bytes};
  head.crc = CrcOf(head);
  std::string page(reinterpret_cast<const char*>(&head), sizeof(head));
  page.resize(kPageBytes);
  return page;
}

bool IsHead(absl::Span<const std::uint8_t> page, std::uint64_t serial,
            std::uint64_t bytes) {
  Head head;
  if (page.size() < sizeof(head)) return false;
  std::memcpy(&head, page.data(), sizeof(head));
  return head.magic == kHeadMagic && head.format == kFormat &&
         head.crc == CrcOf(head) && head.serial == serial &&
         head.bytes == bytes && bytes % kPageBytes == 0 &&
         bytes >= 2 * kPageBytes && bytes <= kMaxSegmentBytes;
}

std::uint64_t FooterBytes(std::uint64_t records) {
  return RoundUp(records * sizeof(RecordLocation) + sizeof(Tail), kPageBytes);
}

std::string EncodeFooter(std::uint64_t serial,
                         absl::Span<const RecordLocation> places) {
  const std::string_view listed(reinterpret_cast<const char*>(places.data()),
                                places.size() * sizeof(RecordLocation));
  Tail tail = {kTailMagic, serial, static_cast<std::uint32_t>(places.size()),
               0};
  tail.crc = CrcOf(
      {reinterpret_cast<const std::uint8_t*>(listed.data()), listed.size()},
      tail);
  std::string footer(FooterBytes(places.size()) - listed.size() - sizeof(tail),
                     '\0');
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

std::optional<std::vector<RecordLocation>> ParseFooter(
    absl::Span<const std::uint8_t> footer, std::uint64_t serial,
    std::uint64_t segment_bytes) {
  const std::optional<Tail> tail = TailAt(footer, serial);
  if (!tail.has_value() || footer.size() != FooterBytes(tail->records) ||
      footer.size() > segment_bytes) {
    return std::nullopt;
  }
  const std::size_t listed = tail->records * sizeof(RecordLocation);
  const auto places_bytes =
      footer.subspan(footer.size() - sizeof(Tail) - listed, listed);
  if (tail->crc != CrcOf(places_bytes, *tail)) return std::nullopt;
  std::vector<RecordLocation> places(tail->records);
  if (!places.empty()) {
    std::memcpy(places.data(), places_bytes.data(), places_bytes.size());
  }
  for (const RecordLocation& place : places) {
    if (!IsWithin(place, segment_bytes - footer.size())) return std::nullopt;
  }
  return places;
}

}  // namespace forebay::cache::disk
