#include "server/storage/compressed/zstd_frame.h"

#include <array>
#include <cstddef>

namespace forebay::storage::compressed {
namespace {

// Magic_Number of a frame (RFC 8878, 3.1.1). In the magic number of a skippable
// frame, the low four bits may have any value (3.1.2).
constexpr std::uint64_t kMagic = 0xfd2fb528;
constexpr std::uint64_t kSkippedMagic = 0x184d2a50;
constexpr std::uint64_t kSkippedMask = 0xfffffff0;
constexpr std::size_t kMagicBytes = 4;

// The fields of Frame_Header_Descriptor, the byte behind Magic_Number (RFC
// 8878, 3.1.1.1.1): Single_Segment_Flag, Reserved_Bit, Dictionary_ID_Flag, and
// the shift of Frame_Content_Size_Flag.
constexpr unsigned kIsSingleSegment = 0x20;
constexpr unsigned kReserved = 0x08;
constexpr unsigned kDictionaryMask = 0x03;
constexpr unsigned kContentShift = 6;

// The bytes of Dictionary_ID (3.1.1.1.3) and of Frame_Content_Size (3.1.1.1.4),
// by their flags. A single segment whose flag is 0 has a Frame_Content_Size of
// one byte.
constexpr std::array<std::size_t, 4> kDictionaryBytes = {0, 1, 2, 4};
constexpr std::array<std::size_t, 4> kContentBytes = {0, 2, 4, 8};
// A Frame_Content_Size of two bytes is stored minus 256.
constexpr std::uint64_t kTwoBytesMore = 256;

// Returns the little-endian number of at most eight bytes.
std::uint64_t NumberOf(absl::Span<const std::uint8_t> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    number = (number << 8) | bytes[i - 1];
  return number;
}

// Returns Window_Size of a Window_Descriptor: an exponent in the high five bits
// and a mantissa in the low three (RFC 8878, 3.1.1.1.2).
std::uint64_t WindowOf(std::uint8_t descriptor) {
  const std::uint64_t base = std::uint64_t{1} << (10 + (descriptor >> 3));
  return base + base / 8 * (descriptor & 7);
}

}  // namespace

absl::StatusOr<std::optional<ZstdFrame>> ParseZstdFrame(
    absl::Span<const std::uint8_t> start) {
  if (start.size() < kMagicBytes) return std::nullopt;
  const std::uint64_t magic = NumberOf(start.first(kMagicBytes));
  ZstdFrame frame;
  if ((magic & kSkippedMask) == kSkippedMagic) {
    frame.header_bytes = kMagicBytes + sizeof(frame.skipped_bytes);
    if (start.size() < frame.header_bytes) return std::nullopt;
    frame.is_skipped = true;
    frame.skipped_bytes = static_cast<std::uint32_t>(
        NumberOf(start.subspan(kMagicBytes, sizeof(frame.skipped_bytes))));
    return frame;
  }
  if (magic != kMagic) return absl::DataLossError("no zstd frame begins there");
  if (start.size() == kMagicBytes) return std::nullopt;
  const unsigned flags = start[kMagicBytes];
  if ((flags & kReserved) != 0)
    return absl::DataLossError("a zstd frame's header is damaged");
  const bool is_single = (flags & kIsSingleSegment) != 0;
  const std::size_t dictionary = kDictionaryBytes[flags & kDictionaryMask];
  std::size_t content = kContentBytes[flags >> kContentShift];
  if (content == 0 && is_single) content = 1;
  // A single segment has no Window_Descriptor: its window is its whole content.
  const std::size_t window = is_single ? 0 : 1;
  frame.header_bytes = kMagicBytes + 1 + window + dictionary + content;
  if (start.size() < frame.header_bytes) return std::nullopt;
  auto rest = start.subspan(kMagicBytes + 1);
  if (!is_single) frame.window_bytes = WindowOf(rest.front());
  rest.remove_prefix(window);
  frame.has_dictionary = NumberOf(rest.first(dictionary)) != 0;
  rest.remove_prefix(dictionary);
  if (content > 0) {
    frame.content_bytes =
        NumberOf(rest.first(content)) + (content == 2 ? kTwoBytesMore : 0);
  }
  if (is_single) frame.window_bytes = *frame.content_bytes;
  return frame;
}

}  // namespace forebay::storage::compressed
