#include "server/dataset/hdf5/row_key.h"

#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

using Kind = RowPlace::Kind;

constexpr unsigned kBits = 7;  // of a number in each byte
constexpr unsigned kMore = 1u << kBits;
constexpr std::uint64_t kMostFilters = 32;

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

}  // namespace

std::string EncodeRowKey(const RowPlace& place,
                         const std::vector<std::string_view>& kept) {
  std::string key(1, static_cast<char>(place.kind));
  if (place.kind == Kind::kChunk) {
    AddNumber(place.filters.size(), &key);
    for (const Filter& filter : place.filters) {
      AddNumber(static_cast<std::uint64_t>(filter.kind), &key);
      AddNumber(filter.element_bytes, &key);
    }
    AddNumber(place.mask, &key);
    AddNumber(place.chunk_bytes, &key);
    AddNumber(place.row, &key);
  } else if (place.kind == Kind::kFilled) {
    AddText(place.fill, &key);
  }
  for (const std::string_view value : kept) AddText(value, &key);
  return key;
}

absl::StatusOr<RowKey> DecodeRowKey(std::string_view key) {
  Cursor cursor(
      {reinterpret_cast<const std::uint8_t*>(key.data()), key.size()});
  RowKey row;
  const std::uint64_t kind = cursor.Take(1);
  if (kind > static_cast<std::uint64_t>(Kind::kEmpty)) return NoKey();
  row.place.kind = static_cast<Kind>(kind);
  if (row.place.kind == Kind::kChunk) {
    const std::uint64_t filters = TakeNumber(cursor);
    if (filters > kMostFilters) return NoKey();
    for (std::uint64_t i = 0; i < filters; ++i) {
      Filter filter;
      filter.kind = static_cast<FilterKind>(TakeNumber(cursor));
      filter.element_bytes = static_cast<std::uint32_t>(TakeNumber(cursor));
      if (filter.kind == FilterKind::kShuffle && filter.element_bytes == 0)
        return NoKey();
      row.place.filters.push_back(filter);
    }
    row.place.mask = static_cast<std::uint32_t>(TakeNumber(cursor));
    row.place.chunk_bytes = TakeNumber(cursor);
    row.place.row = TakeNumber(cursor);
  } else if (row.place.kind == Kind::kFilled) {
    row.place.fill = std::string(TakeText(cursor));
  }
  while (cursor.ok() && !cursor.rest().empty())
    row.kept.push_back(TakeText(cursor));
  if (!cursor.ok()) return NoKey();
  return row;
}

}  // namespace forebay::dataset::hdf5
