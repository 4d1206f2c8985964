#include "server/dataset/hdf5/row_key.h"

#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

using Kind = RowPlace::Kind;

constexpr unsigned kBits = 7;  // of a number in each byte
constexpr unsigned kMore = 1u << kBits;
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

std::uint64_t TakeNumber(Cursor& cursor) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    const std::uint64_t byte = cursor.Take(1);
    number |= byte % kMore << shift;
    if (byte < kMore) break;
  }
  return number;
}

std::string_view TakeText(Cursor& cursor) {
  const Bytes bytes = cursor.TakeBytes(TakeNumber(cursor));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status NoKey() {
  return absl::DataLossError("is indexed by what is no row of HDF5");
}

void AddFilters(const RowPlace& place, std::string* key) {
  AddNumber(place.filters.size(), key);
  for (const Filter& filter : place.filters) {
    AddNumber(static_cast<std::uint64_t>(filter.kind), key);
    AddNumber(filter.element_bytes, key);
  }
}

bool TakeFilters(Cursor& cursor, RowPlace* place) {
  const std::uint64_t filters = TakeNumber(cursor);
  if (filters > kMostFilters) return false;
  for (std::uint64_t i = 0; i < filters; ++i) {
    Filter filter;
    filter.kind = static_cast<FilterKind>(TakeNumber(cursor));
    filter.element_bytes = static_cast<std::uint32_t>(TakeNumber(cursor));
    place->filters.push_back(filter);
  }
  return true;
}

void AddParts(const RowPlace& place, std::string* key) {
  AddText(place.fill, key);
  AddNumber(place.element_bytes, key);
  AddNumber(place.shape.size(), key);
  for (const std::uint64_t extent : place.shape) AddNumber(extent, key);
  for (const std::uint64_t extent : place.chunk) AddNumber(extent, key);
  AddNumber(place.chunks.size(), key);
  for (const PlacedChunk& chunk : place.chunks) {
    AddNumber(chunk.number, key);
    AddNumber(chunk.offset, key);
    AddNumber(chunk.bytes, key);
    AddNumber(chunk.mask, key);
  }
}

// Takes an extent of at least 1, so that all together are no more than that.
bool TakeExtent(Cursor& cursor, std::uint64_t* bytes,
                std::vector<std::uint64_t>* extents) {
  const std::uint64_t extent = TakeNumber(cursor);
  if (extent == 0 || *bytes > kMostBytes / extent) return false;
  *bytes *= extent;
  extents->push_back(extent);
  return true;
}

bool TakeParts(Cursor& cursor, RowPlace* place) {
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
  const std::uint64_t chunks = TakeNumber(cursor);
  for (std::uint64_t i = 0; i < chunks && cursor.ok(); ++i) {
    PlacedChunk chunk;
    chunk.number = TakeNumber(cursor);
    chunk.offset = TakeNumber(cursor);
    chunk.bytes = TakeNumber(cursor);
    chunk.mask = static_cast<std::uint32_t>(TakeNumber(cursor));
    place->chunks.push_back(chunk);
  }
  return cursor.ok();
}

}  // namespace

std::string EncodeRowKey(const RowPlace& place,
                         const std::vector<std::string_view>& kept) {
  std::string key(1, static_cast<char>(place.kind));
  if (place.kind == Kind::kChunk) {
    AddFilters(place, &key);
    AddNumber(place.mask, &key);
    AddNumber(place.chunk_bytes, &key);
    AddNumber(place.row, &key);
  } else if (place.kind == Kind::kFilled) {
    AddText(place.fill, &key);
  } else if (place.kind == Kind::kParts) {
    AddFilters(place, &key);
    AddParts(place, &key);
    AddNumber(place.row, &key);
  }
  for (const std::string_view value : kept) AddText(value, &key);
  return key;
}

absl::StatusOr<RowKey> DecodeRowKey(std::string_view key) {
  Cursor cursor(
      {reinterpret_cast<const std::uint8_t*>(key.data()), key.size()});
  RowKey row;
  const std::uint64_t kind = cursor.Take(1);
  if (kind > static_cast<std::uint64_t>(Kind::kParts)) return NoKey();
  row.place.kind = static_cast<Kind>(kind);
  if (row.place.kind == Kind::kChunk) {
    if (!TakeFilters(cursor, &row.place)) return NoKey();
    row.place.mask = static_cast<std::uint32_t>(TakeNumber(cursor));
    row.place.chunk_bytes = TakeNumber(cursor);
    row.place.row = TakeNumber(cursor);
  } else if (row.place.kind == Kind::kFilled) {
    row.place.fill = std::string(TakeText(cursor));
  } else if (row.place.kind == Kind::kParts) {
    if (!TakeFilters(cursor, &row.place) || !TakeParts(cursor, &row.place))
      return NoKey();
    row.place.row = TakeNumber(cursor);
  }
  while (cursor.ok() && !cursor.rest().empty())
    row.kept.push_back(TakeText(cursor));
  if (!cursor.ok()) return NoKey();
  return row;
}

}  // namespace forebay::dataset::hdf5
