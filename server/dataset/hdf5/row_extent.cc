#include "server/dataset/hdf5/row_extent.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

// A row is read in one of five ways (RowPlace::Kind). A row of a contiguous
// dataset, or of a chunk without filters, is read by itself (kDirect). A row in
// a chunk with filters needs the whole chunk (kChunk). If chunks are narrower
// than a row, all chunks with parts of the row are read (kParts). A row without
// bytes in the file has the fill value (kFilled) or is empty (kEmpty).
//
// If a whole dataset is one row, its place is kParts instead of kChunk or
// kFilled. The shape of such a row differs from sample to sample, and only
// kParts records a shape.

namespace forebay::dataset::hdf5 {
namespace {

using Kind = ArrayLayout::Kind;
using Pieces = std::vector<storage::gathered::Piece>;

// If at most this many bytes lie between two pieces, one read covers both
// pieces. Reading 32 KiB more costs less than a second read.
constexpr std::uint64_t kMostGap = std::uint64_t{1} << 15;
// The most parts of a row. A key has room for about so many parts.
constexpr std::size_t kMostParts = 4096;
// The most bytes to which the chunks of one row are decompressed. Decompressing
// so many bytes takes seconds.
constexpr std::uint64_t kMostDecompressed = std::uint64_t{1} << 32;
// If a row's part in each chunk has at least this many bytes, only that part of
// the chunk is read.
constexpr std::uint64_t kSmallPart = 4096;  // bytes

// Makes the error of a row that is too costly to read. The error says which
// shape of chunks to write instead.
absl::Status ToBeWrittenAnew(const ArrayLayout& array, std::uint64_t row,
                             std::uint64_t parts) {
  std::vector<std::uint64_t> whole = array.shape;
  whole.front() = 1;
  return absl::UnimplementedError(absl::StrCat(
      "has chunks of (", absl::StrJoin(array.chunk, ", "), "), of which row ",
      row, " has parts in ", parts, " with ", array.chunk_bytes(),
      " bytes each, more than can be read for one row; write it anew with "
      "chunks=(",
      absl::StrJoin(whole, ", "), ")"));
}

// Narrows `pieces`, which are chunks without filters, to the row's part:
// `bytes` bytes of each chunk. `place` then describes chunks of one row.
void KeepOneRow(Pieces* pieces, RowPlace* place, std::uint64_t bytes) {
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    PlacedChunk& chunk = place->chunks[i];
    chunk.offset = i * bytes;
    chunk.bytes = bytes;
    (*pieces)[i].offset += place->row * bytes;
    (*pieces)[i].length = bytes;
  }
  place->chunk.front() = 1;
  place->row = 0;
}

// Fills in `place` for a row whose parts are in several chunks.
absl::StatusOr<Pieces> PlaceParts(const ArrayLayout& array,
                                  const std::vector<StoredChunk>& chunks,
                                  std::uint64_t row, RowPlace* place) {
  // A dataset that was never written and is not chunked counts as a single
  // missing chunk of the dataset's shape.
  const std::vector<std::uint64_t>& shape =
      array.chunk.empty() ? array.shape : array.chunk;
  const std::uint64_t count = array.chunk.empty() ? 1 : array.chunks_of_row();
  const std::uint64_t first = row / shape[0] * count;
  auto chunk = std::lower_bound(
      chunks.begin(), chunks.end(), first,
      [](const StoredChunk& one, std::uint64_t of) { return one.number < of; });
  Pieces pieces;
  std::uint64_t bytes = 0;
  std::uint64_t compressed = 0;  // number of chunks with filters
  for (; chunk != chunks.end() && chunk->number - first < count; ++chunk) {
    if (pieces.size() == kMostParts) return ToBeWrittenAnew(array, row, count);
    place->chunks.push_back(
        {chunk->number - first, bytes, chunk->bytes, chunk->mask});
    pieces.push_back({chunk->offset, chunk->bytes});
    bytes += chunk->bytes;
    if (chunk->mask != UINT32_MAX) ++compressed;
  }
  place->kind = RowPlace::Kind::kParts;
  place->filters = array.filters;
  place->row = row % shape[0];
  place->element_bytes = array.type.size;
  place->shape.assign(array.shape.begin() + 1, array.shape.end());
  place->chunk = shape;
  if (array.row_bytes() == 0) place->kind = RowPlace::Kind::kEmpty;
  if (pieces.empty()) return pieces;
  const std::uint64_t each = array.chunk_bytes();
  // A single chunk is always read: the parser has bounded its size.
  if (compressed > kMostDecompressed / each && compressed > 1)
    return ToBeWrittenAnew(array, row, compressed);
  if (compressed == 0 && each / shape[0] >= kSmallPart)
    KeepOneRow(&pieces, place, each / shape[0]);
  return pieces;
}

}  // namespace

absl::StatusOr<Pieces> PlaceRow(const FileView& file, const ArrayLayout& array,
                                const std::vector<StoredChunk>& chunks,
                                std::uint64_t row, RowPlace* place) {
  const Pieces nothing;
  place->kind = RowPlace::Kind::kFilled;
  place->fill = array.fill;
  const std::uint64_t bytes = array.row_bytes();
  if (array.kind == Kind::kContiguous) {
    const auto begin = file.Locate(array.address, 0);
    if (!begin.ok() && array.is_whole)
      return PlaceParts(array, chunks, row, place);
    if (bytes == 0) place->kind = RowPlace::Kind::kEmpty;
    if (!begin.ok() || bytes == 0) return nothing;
    place->kind = RowPlace::Kind::kDirect;
    return Pieces{{*begin + row * bytes, bytes}};
  }
  if (!array.has_whole_rows()) return PlaceParts(array, chunks, row, place);
  const std::uint64_t number = row / array.chunk[0];
  const auto chunk = std::lower_bound(
      chunks.begin(), chunks.end(), number,
      [](const StoredChunk& one, std::uint64_t of) { return one.number < of; });
  if (chunk == chunks.end() || chunk->number != number) {
    if (array.is_whole) return PlaceParts(array, chunks, row, place);
    return nothing;
  }
  const std::uint64_t within = row % array.chunk[0];
  if (array.is_whole && chunk->mask != UINT32_MAX)
    return PlaceParts(array, chunks, row, place);
  if (chunk->mask == UINT32_MAX) {
    place->kind = RowPlace::Kind::kDirect;
    return Pieces{{chunk->offset + within * bytes, bytes}};
  }
  place->kind = RowPlace::Kind::kChunk;
  place->filters = array.filters;
  place->mask = chunk->mask;
  place->chunk_bytes = array.chunk_bytes();
  place->row = within;
  return Pieces{{chunk->offset, chunk->bytes}};
}

Pieces PlaceValue(const ValuePlace& value, RowPlace* place) {
  place->kind =
      value.length > 0 ? RowPlace::Kind::kDirect : RowPlace::Kind::kEmpty;
  if (value.length == 0) return {};
  return {{value.offset, value.length}};
}

std::optional<ValuePlace> JoinPieces(const Pieces& pieces, RowPlace* place) {
  if (pieces.empty()) return ValuePlace{0, 1};
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) {
    begin = std::min(begin, piece.offset);
    end = std::max(end, piece.offset + piece.length);
    bytes += piece.length;
  }
  const std::uint64_t length = end - begin;
  if (length > bytes && length - bytes > kMostGap * (pieces.size() - 1))
    return std::nullopt;
  // Chunks and pieces are in the same order.
  for (std::size_t i = 0; i < place->chunks.size(); ++i)
    place->chunks[i].offset = pieces[i].offset - begin;
  return ValuePlace{begin, length};
}

}  // namespace forebay::dataset::hdf5
