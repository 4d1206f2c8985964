// Positions without block headers are computed, so no table of blocks is
// needed. The content before an offset is the content of all earlier blocks,
// plus the bytes between the header of the offset's own block and the offset.
// The functions below convert in both directions.
#include "server/dataset/array_record/blocks.h"

#include <algorithm>

#include "server/base/check.h"

namespace forebay::dataset::array_record {
namespace {

// Bytes of a block without its header: the block's content.
constexpr std::uint64_t kContentBytes = kBlockBytes - kBlockHeaderBytes;

// Returns the number of content bytes in the file before `offset`: the bytes
// that do not belong to block headers.
constexpr std::uint64_t ContentBefore(std::uint64_t offset) {
  const std::uint64_t in_block = offset % kBlockBytes;
  return offset / kBlockBytes * kContentBytes +
         std::max(in_block, kBlockHeaderBytes) - kBlockHeaderBytes;
}

// Returns the offset in the file of content byte number `content`, counted from
// 0.
constexpr std::uint64_t OffsetOf(std::uint64_t content) {
  return content / kContentBytes * kBlockBytes + kBlockHeaderBytes +
         content % kContentBytes;
}

}  // namespace

Blocks::Blocks(std::uint64_t offset, absl::Span<const std::uint8_t> bytes)
    : offset_(offset),
      bytes_(bytes),
      size_(ContentBefore(offset + bytes.size()) - ContentBefore(offset)) {
  FOREBAY_CHECK(CanBeginChunk(offset));
}

std::optional<absl::Span<const std::uint8_t>> Blocks::Piece(
    std::uint64_t begin, std::uint64_t length) const {
  FOREBAY_CHECK(begin <= size_ && length <= size_ - begin);
  if (length == 0) return absl::Span<const std::uint8_t>();
  const std::uint64_t first = ContentBefore(offset_) + begin;
  if (first / kContentBytes != (first + length - 1) / kContentBytes)
    return std::nullopt;
  return bytes_.subspan(OffsetOf(first) - offset_, length);
}

void Blocks::Copy(std::uint64_t begin, absl::Span<std::uint8_t> out) const {
  FOREBAY_CHECK(begin <= size_ && out.size() <= size_ - begin);
  std::uint64_t at = ContentBefore(offset_) + begin;
  while (!out.empty()) {
    const std::uint64_t length =
        std::min<std::uint64_t>(kContentBytes - at % kContentBytes, out.size());
    const auto piece = bytes_.subspan(OffsetOf(at) - offset_, length);
    std::copy(piece.begin(), piece.end(), out.begin());
    out.remove_prefix(length);
    at += length;
  }
}

}  // namespace forebay::dataset::array_record
