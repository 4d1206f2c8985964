#include "server/storage/inflated/zstd_frame.h"

#include <array>
#include <cstddef>

namespace forebay::storage::inflated {
namespace {

constexpr std::uint64_t kMagic = 0xfd2fb528;
constexpr std::uint64_t kSkippedMagic = 0x184d2a50;
constexpr std::uint64_t kSkippedMask = 0xfffffff0;
constexpr std::size_t kMagicBytes = 4;

// Bits of the byte behind the magic number.
constexpr unsigned kIsSingleSegment = 0x20;
constexpr unsigned kReserved = 0x08;
constexpr unsigned kDictionaryMask = 0x03;
constexpr unsigned kContentShift = 6;

constexpr std::array<std::size_t, 4> kDictionaryBytes = {0, 1, 2, 4};
constexpr std::array<std::size_t, 4> kContentBytes = {0, 2, 4, 8};
// A content size of two bytes counts from there on.
constexpr std::uint64_t kTwoBytesMore = 256;

// Little endian, of at most eight bytes.
std::uint64_t NumberOf(absl::Span<const std::uint8_t> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    number = (number << 8) | bytes[i - 1];
  return number;
}

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

}  // namespace forebay::storage::inflated
