#include "server/dataset/hdf5/row_extent.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace forebay::dataset::hdf5 {
namespace {

using Kind = ArrayLayout::Kind;

// Trees lie between the chunks with a row's parts: so many bytes, besides as
// many as these chunks have.
constexpr std::uint64_t kMostGaps = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestParts = std::uint64_t{1} << 26;  // bytes
constexpr std::size_t kMostParts = 4096;  // whose numbers a key has room for

std::string ShapeOf(const std::vector<std::uint64_t>& shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), ")");
}

// A row of which several chunks have parts. They are read as one extent, with
// what lies between them.
absl::StatusOr<ValuePlace> PlaceParts(const ArrayLayout& array,
                                      const std::vector<Chunk>& chunks,
                                      std::uint64_t row, RowPlace* place) {
  // One that was not written may have no chunks at all.
  const std::vector<std::uint64_t>& shape =
      array.chunk.empty() ? array.shape : array.chunk;
  const std::uint64_t count = array.chunk.empty() ? 1 : array.chunks_of_row();
  const std::uint64_t first = row / shape[0] * count;
  auto chunk = std::lower_bound(
      chunks.begin(), chunks.end(), first,
      [](const Chunk& one, std::uint64_t of) { return one.number < of; });
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  for (; chunk != chunks.end() && chunk->number - first < count; ++chunk) {
    place->chunks.push_back(
        {chunk->number - first, chunk->offset, chunk->bytes, chunk->mask});
    begin = std::min(begin, chunk->offset);
    end = std::max(end, chunk->offset + chunk->bytes);
    bytes += chunk->bytes;
  }
  place->kind = RowPlace::Kind::kParts;
  place->filters = array.filters;
  place->row = row % shape[0];
  place->element_bytes = array.type.size;
  place->shape.assign(array.shape.begin() + 1, array.shape.end());
  place->chunk = shape;
  if (array.row_bytes() == 0) place->kind = RowPlace::Kind::kEmpty;
  if (place->chunks.empty()) return ValuePlace{0, 1};
  if (end - begin > kMostGaps + 2 * bytes || end - begin > kLongestParts ||
      place->chunks.size() > kMostParts) {
    std::vector<std::uint64_t> whole = array.shape;
    whole.front() = 1;
    return absl::UnimplementedError(
        absl::StrCat("has chunks of ", ShapeOf(array.chunk), ", of which row ",
                     row, " is scattered over ", end - begin,
                     " bytes; write it anew with chunks=", ShapeOf(whole)));
  }
  for (PlacedChunk& one : place->chunks) one.offset -= begin;
  return ValuePlace{begin, end - begin};
}

}  // namespace

absl::StatusOr<ValuePlace> PlaceRow(const FileView& file,
                                    const ArrayLayout& array,
                                    const std::vector<Chunk>& chunks,
                                    std::uint64_t row, RowPlace* place) {
  const ValuePlace nothing{0, 1};
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
    return ValuePlace{*begin + row * bytes, bytes};
  }
  if (!array.has_whole_rows()) return PlaceParts(array, chunks, row, place);
  const std::uint64_t number = row / array.chunk[0];
  const auto chunk = std::lower_bound(
      chunks.begin(), chunks.end(), number,
      [](const Chunk& one, std::uint64_t of) { return one.number < of; });
  if (chunk == chunks.end() || chunk->number != number)
    return array.is_whole ? PlaceParts(array, chunks, row, place) : nothing;
  const std::uint64_t within = row % array.chunk[0];
  if (array.is_whole && chunk->mask != UINT32_MAX)
    return PlaceParts(array, chunks, row, place);
  if (chunk->mask == UINT32_MAX) {
    place->kind = RowPlace::Kind::kDirect;
    return ValuePlace{chunk->offset + within * bytes, bytes};
  }
  place->kind = RowPlace::Kind::kChunk;
  place->filters = array.filters;
  place->mask = chunk->mask;
  place->chunk_bytes = array.chunk_bytes();
  place->row = within;
  return ValuePlace{chunk->offset, chunk->bytes};
}

ValuePlace PlaceValue(const ValuePlace& value, RowPlace* place) {
  place->kind =
      value.length > 0 ? RowPlace::Kind::kDirect : RowPlace::Kind::kEmpty;
  return value.length > 0 ? value : ValuePlace{0, 1};
}

}  // namespace forebay::dataset::hdf5
