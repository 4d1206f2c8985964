#include "server/dataset/hdf5/stored_row.h"

#include <algorithm>

#include "server/base/status.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/filters.h"
#include "server/dataset/hdf5/hdf5_row_reader.h"

namespace forebay::dataset::hdf5 {
namespace {

// Returns the size of a row in bytes, rounded up so that a chunk after it is
// aligned.
std::uint64_t RoomOfRow(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Returns the size in bytes of a buffer in which the filters of any one of the
// chunks can be undone.
std::uint64_t RoomOfChunks(const RowPlace& place) {
  std::uint64_t most = 0;
  for (const PlacedChunk& chunk : place.chunks) {
    if (chunk.mask == UINT32_MAX) continue;
    most = std::max(
        most, RoomToUnfilter(place.filters, chunk.mask, place.chunk_bytes));
  }
  return most;
}

// Returns a layout for CopyChunk: that of a dataset with only the rows of these
// chunks.
ArrayLayout LayoutOf(const RowPlace& place) {
  ArrayLayout array;
  array.type.size = place.element_bytes;
  array.shape = place.shape;
  array.shape.insert(array.shape.begin(), place.chunk.front());
  array.chunk = place.chunk;
  return array;
}

// Puts a row together from the parts that several chunks have. The fill value
// stays where a chunk is missing.
absl::StatusOr<Bytes> JoinParts(const RowPlace& place, std::uint64_t expected,
                                Bytes record, ChunkCache& chunks,
                                DecompressionRoom give) {
  const ArrayLayout array = LayoutOf(place);
  const std::uint64_t row_bytes = array.row_bytes();
  if ((expected > 0 && row_bytes != expected) ||
      place.row >= place.chunk.front() || place.chunk_bytes > kLargestChunk)
    return absl::DataLossError("is indexed as a row of another shape");
  // The buffer's front is for the row. Each chunk in turn uses the remaining
  // buffer.
  const std::uint64_t front = RoomOfRow(row_bytes);
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> room,
                           give(front + RoomOfChunks(place)));
  const absl::Span<std::uint8_t> row = room.first(row_bytes);
  FillValue(place.fill, 0, row);
  for (const PlacedChunk& chunk : place.chunks) {
    if (chunk.number >= array.chunks_of_row() || chunk.offset > record.size() ||
        chunk.bytes > record.size() - chunk.offset) {
      return absl::DataLossError("is indexed in chunks that are not there");
    }
    PlainChunk plain{record.subspan(chunk.offset, chunk.bytes), nullptr};
    if (chunk.mask != UINT32_MAX) {
      FOREBAY_ASSIGN_OR_RETURN(
          plain,
          chunks.Get(place.filters, chunk.mask, plain.bytes, place.chunk_bytes,
                     place.chunk.front(), [&](std::uint64_t bytes) {
                       return room.subspan(front, bytes);
                     }));
    }
    if (plain.bytes.size() != place.chunk_bytes)
      return absl::DataLossError("is indexed in chunks of another size");
    CopyChunk(array, chunk.number, plain.bytes, place.row, row);
  }
  return row;
}

// Returns a row of a single chunk with filters. If the chunk is in the cache,
// the row is copied, because the cache may drop the chunk at any time.
absl::StatusOr<Bytes> TakeFromChunk(const RowPlace& place,
                                    std::uint64_t row_bytes, Bytes record,
                                    ChunkCache& chunks,
                                    DecompressionRoom room) {
  if (row_bytes == 0 || place.chunk_bytes > kLargestChunk ||
      place.row >= place.chunk_bytes / row_bytes) {
    return absl::DataLossError("is indexed in a chunk that has no such row");
  }
  FOREBAY_ASSIGN_OR_RETURN(
      const PlainChunk chunk,
      chunks.Get(place.filters, place.mask, record, place.chunk_bytes,
                 place.chunk_bytes / row_bytes, room));
  const Bytes row = chunk.bytes.subspan(place.row * row_bytes, row_bytes);
  if (chunk.owner == nullptr) return row;
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> copy,
                           room(row_bytes));
  std::copy(row.begin(), row.end(), copy.begin());
  return copy;
}

}  // namespace

absl::StatusOr<Bytes> FindRow(const RowPlace& place, std::uint64_t row_bytes,
                              Bytes record, ChunkCache& chunks,
                              DecompressionRoom room) {
  switch (place.kind) {
    case RowPlace::Kind::kDirect:
      return record;
    case RowPlace::Kind::kEmpty:
    case RowPlace::Kind::kFilled:
      return Bytes();
    case RowPlace::Kind::kParts:
      return JoinParts(place, row_bytes, record, chunks, room);
    case RowPlace::Kind::kChunk:
      break;
  }
  return TakeFromChunk(place, row_bytes, record, chunks, room);
}

std::uint64_t MostRoomOf(const RowPlace& place, std::uint64_t row_bytes) {
  if (place.chunk_bytes > kLargestChunk)
    return 0;  // FindRow refuses such a chunk
  switch (place.kind) {
    case RowPlace::Kind::kChunk:
      return std::max(row_bytes, RoomToUnfilter(place.filters, place.mask,
                                                place.chunk_bytes));
    case RowPlace::Kind::kParts: {
      const std::uint64_t bytes = LayoutOf(place).row_bytes();
      // FindRow refuses a row of another size.
      if (row_bytes > 0 && bytes != row_bytes) return 0;
      return RoomOfRow(bytes) + RoomOfChunks(place);
    }
    default:
      return 0;
  }
}

}  // namespace forebay::dataset::hdf5
