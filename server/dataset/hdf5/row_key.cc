#include "server/dataset/hdf5/row_key.h"

#include "server/base/check.h"
#include "server/base/status.h"

// A key is a sequence of bytes, numbers and texts. Numbers are varints: seven
// bits a byte, the lowest first, where the high bit says that more follow. A
// text is its length and its bytes.
//
//   plain row      a place
//   gathered row   the byte kGathered; number of places; each place; number of
//                  pieces; an offset and a length for each piece
//   then           the number of the row in each place that has one
//   then           a text for each value that the index stores
//
//   place          the kind as a byte; then fields of that kind, in the order
//                  of AddPlace
//
// The numbers of rows come after everything that rows of the same chunks have
// in common. The index compresses keys by their common starts, so that such
// rows take a few bytes each.

namespace forebay::dataset::hdf5 {
namespace {

using Kind = RowPlace::Kind;
using storage::gathered::Piece;

// The first byte of the keys of gathered rows. In other keys, that byte is a
// RowPlace::Kind.
constexpr char kGathered = 5;
// Bits of a number in each byte of a varint.
constexpr unsigned kBits = 7;
constexpr unsigned kMore = 1u << kBits;
// Bounds of the numbers in a key. A mask has 32 bits, one for each filter, and
// a dataset can have 32 axes. Numbers of bytes are bounded so that their sums
// do not overflow.
constexpr std::uint64_t kMostFilters = 32;
constexpr std::uint64_t kMostAxes = 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

void AddNumber(std::uint64_t number, std::string* key) {
  while (number >= kMore) {
    *key += static_cast<char>(number % kMore | kMore);
    number /= kMore;
  }
  *key += static_cast<char>(number);
}

void AddText(std::string_view text, std::string* key) {
  AddNumber(text.size(), key);
  *key += text;
}

std::uint64_t TakeNumber(ByteCursor& cursor) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    const std::uint64_t byte = cursor.Take(1);
    number |= byte % kMore << shift;
    if (byte < kMore) break;
  }
  return number;
}

// Takes a number into 32 bits. Returns false if it does not fit.
bool TakeNumber32(ByteCursor& cursor, std::uint32_t* number) {
  const std::uint64_t whole = TakeNumber(cursor);
  *number = static_cast<std::uint32_t>(whole);
  return *number == whole;
}

std::string_view TakeText(ByteCursor& cursor) {
  const Bytes bytes = cursor.TakeBytes(TakeNumber(cursor));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Makes the error of a malformed key.
absl::Status NoKey() {
  return absl::DataLossError("is indexed by what is not a row of HDF5");
}

void AddFilters(const RowPlace& place, std::string* key) {
  AddNumber(place.filters.size(), key);
  for (const ChunkFilter& filter : place.filters) {
    AddNumber(static_cast<std::uint64_t>(filter.kind), key);
    AddNumber(filter.element_bytes, key);
  }
}

bool TakeFilters(ByteCursor& cursor, RowPlace* place) {
  const std::uint64_t filters = TakeNumber(cursor);
  if (filters > kMostFilters) return false;
  for (std::uint64_t i = 0; i < filters; ++i) {
    const std::uint64_t kind = TakeNumber(cursor);
    if (!IsFilterKind(kind)) return false;
    ChunkFilter filter{.kind = static_cast<FilterKind>(kind)};
    if (!TakeNumber32(cursor, &filter.element_bytes)) return false;
    place->filters.push_back(filter);
  }
  return true;
}

// Adds the part of a key that only kParts has. In a gathered row, the chunks
// follow one another, and the key leaves their offsets out.
void AddParts(const RowPlace& place, bool is_gathered, std::string* key) {
  AddText(place.fill, key);
  AddNumber(place.element_bytes, key);
  AddNumber(place.shape.size(), key);
  for (const std::uint64_t extent : place.shape) AddNumber(extent, key);
  for (const std::uint64_t extent : place.chunk) AddNumber(extent, key);
  AddNumber(place.chunks.size(), key);
  for (const PlacedChunk& chunk : place.chunks) {
    AddNumber(chunk.number, key);
    if (!is_gathered) AddNumber(chunk.offset, key);
    AddNumber(chunk.bytes, key);
    // Chunks without filters are frequent in gathered rows. Adding 1 makes
    // their mask, UINT32_MAX, the shortest number, 0.
    AddNumber(is_gathered ? chunk.mask + 1 : chunk.mask, key);
  }
}

// Takes an extent and multiplies `*bytes` by it. Returns false if the extent is
// 0 or the product is more than kMostBytes.
bool TakeExtent(ByteCursor& cursor, std::uint64_t* bytes,
                std::vector<std::uint64_t>* extents) {
  const std::uint64_t extent = TakeNumber(cursor);
  if (extent == 0 || *bytes > kMostBytes / extent) return false;
  *bytes *= extent;
  extents->push_back(extent);
  return true;
}

// Takes the chunks of a place. If the row is gathered, computes their offsets:
// the chunks follow one another.
bool TakeChunks(ByteCursor& cursor, bool is_gathered, RowPlace* place) {
  const std::uint64_t chunks = TakeNumber(cursor);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < chunks && cursor.ok(); ++i) {
    PlacedChunk chunk;
    chunk.number = TakeNumber(cursor);
    chunk.offset = is_gathered ? end : TakeNumber(cursor);
    chunk.bytes = TakeNumber(cursor);
    if (!TakeNumber32(cursor, &chunk.mask)) return false;
    if (is_gathered) --chunk.mask;
    if (chunk.bytes > kMostBytes || end > kMostBytes) return false;
    end += chunk.bytes;
    place->chunks.push_back(chunk);
  }
  return cursor.ok();
}

bool TakeParts(ByteCursor& cursor, bool is_gathered, RowPlace* place) {
  place->fill = std::string(TakeText(cursor));
  place->element_bytes = TakeNumber(cursor);
  const std::uint64_t axes = TakeNumber(cursor);
  if (axes > kMostAxes || place->element_bytes == 0) return false;
  std::uint64_t row_bytes = place->element_bytes;
  for (std::uint64_t i = 0; i < axes; ++i) {
    if (!TakeExtent(cursor, &row_bytes, &place->shape)) return false;
  }
  std::uint64_t chunk_bytes = place->element_bytes;
  for (std::uint64_t i = 0; i <= axes; ++i) {
    if (!TakeExtent(cursor, &chunk_bytes, &place->chunk)) return false;
  }
  place->chunk_bytes = chunk_bytes;
  return TakeChunks(cursor, is_gathered, place);
}

// Whether a place has the number of its row within a chunk.
bool HasRow(const RowPlace& place) {
  return place.kind == Kind::kChunk || place.kind == Kind::kParts;
}

// Adds everything of a place except the number of its row, which differs among
// rows of the same chunks.
void AddPlace(const RowPlace& place, bool is_gathered, std::string* key) {
  *key += static_cast<char>(place.kind);
  if (is_gathered) AddNumber(place.length, key);
  if (place.kind == Kind::kFilled) AddText(place.fill, key);
  if (HasRow(place)) AddFilters(place, key);
  if (place.kind == Kind::kParts) AddParts(place, is_gathered, key);
  if (place.kind != Kind::kChunk) return;
  AddNumber(place.mask, key);
  AddNumber(place.chunk_bytes, key);
}

bool TakePlace(ByteCursor& cursor, bool is_gathered, RowPlace* place) {
  const std::uint64_t kind = cursor.Take(1);
  if (kind > static_cast<std::uint64_t>(Kind::kParts)) return false;
  place->kind = static_cast<Kind>(kind);
  if (is_gathered) place->length = TakeNumber(cursor);
  if (place->kind == Kind::kFilled) place->fill = std::string(TakeText(cursor));
  if (HasRow(*place) && !TakeFilters(cursor, place)) return false;
  if (place->kind == Kind::kParts && !TakeParts(cursor, is_gathered, place))
    return false;
  if (place->kind == Kind::kChunk) {
    if (!TakeNumber32(cursor, &place->mask)) return false;
    place->chunk_bytes = TakeNumber(cursor);
  }
  return cursor.ok();
}

// Takes the pieces of a gathered row. They must have at least the bytes of all
// places.
bool TakePieces(ByteCursor& cursor, RowKey* row) {
  std::uint64_t wanted = 0;
  for (const RowPlace& place : row->places) {
    if (place.length > kMostBytes) return false;
    wanted += place.length;
  }
  std::uint64_t bytes = 0;
  const std::uint64_t pieces = TakeNumber(cursor);
  for (std::uint64_t i = 0; i < pieces && cursor.ok(); ++i) {
    Piece piece;
    piece.offset = TakeNumber(cursor);
    piece.length = TakeNumber(cursor);
    if (piece.length == 0 || piece.length > kMostBytes || bytes > kMostBytes)
      return false;
    bytes += piece.length;
    row->pieces.push_back(piece);
  }
  return cursor.ok() && !row->pieces.empty() && bytes >= wanted;
}

bool TakePlaces(ByteCursor& cursor, RowKey* row) {
  const std::uint64_t places = TakeNumber(cursor);
  if (places == 0 || places > kMostPlaces) return false;
  for (std::uint64_t i = 0; i < places; ++i) {
    if (!TakePlace(cursor, true, &row->places.emplace_back())) return false;
  }
  return TakePieces(cursor, row);
}

}  // namespace

std::string EncodeRowKey(const std::vector<RowPlace>& places,
                         const std::vector<Piece>& pieces,
                         const std::vector<std::string_view>& indexed_values) {
  std::string key;
  if (pieces.empty()) {
    FOREBAY_CHECK(places.size() == 1);
    AddPlace(places.front(), false, &key);
  } else {
    key += kGathered;
    AddNumber(places.size(), &key);
    for (const RowPlace& place : places) AddPlace(place, true, &key);
    AddNumber(pieces.size(), &key);
    for (const Piece& piece : pieces) {
      AddNumber(piece.offset, &key);
      AddNumber(piece.length, &key);
    }
  }
  for (const RowPlace& place : places) {
    if (HasRow(place)) AddNumber(place.row, &key);
  }
  for (const std::string_view value : indexed_values) AddText(value, &key);
  return key;
}

absl::StatusOr<RowKey> DecodeRowKey(std::string_view key) {
  ByteCursor cursor(
      {reinterpret_cast<const std::uint8_t*>(key.data()), key.size()});
  RowKey row;
  if (key.starts_with(kGathered)) {
    cursor.Skip(1);
    if (!TakePlaces(cursor, &row)) return NoKey();
  } else if (!TakePlace(cursor, false, &row.places.emplace_back())) {
    return NoKey();
  }
  for (RowPlace& place : row.places) {
    if (HasRow(place)) place.row = TakeNumber(cursor);
  }
  while (cursor.ok() && !cursor.rest().empty())
    row.indexed_values.push_back(TakeText(cursor));
  if (!cursor.ok()) return NoKey();
  return row;
}

}  // namespace forebay::dataset::hdf5
