#include "server/dataset/hdf5/row_key.h"

#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

TEST_CASE("An HDF5 row key is read as it was written", "[hdf5][row_key]") {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.filters = {{FilterKind::kShuffle, 4}, {FilterKind::kLzf}};
  place.mask = 2;
  place.chunk_bytes = 100000;
  place.row = 300;
  const std::string key = EncodeRowKey({place}, {}, {"abc", "", "x"});
  const auto read = DecodeRowKey(key);
  REQUIRE_THAT(read, IsOk());
  CHECK(read->places[0].kind == place.kind);
  REQUIRE(read->places[0].filters.size() == 2u);
  CHECK(read->places[0].filters[0].kind == FilterKind::kShuffle);
  CHECK(read->places[0].filters[0].element_bytes == 4u);
  CHECK(read->places[0].mask == 2u);
  CHECK(read->places[0].chunk_bytes == 100000u);
  CHECK(read->places[0].row == 300u);
  CHECK_THAT(read->indexed_values, ElementsAre("abc", "", "x"));
}

TEST_CASE("An HDF5 row key has the fill value", "[hdf5][row_key]") {
  RowPlace place;
  place.kind = RowPlace::Kind::kFilled;
  place.fill = std::string("\0\1", 2);
  const std::string key = EncodeRowKey({place}, {}, {});
  const auto read = DecodeRowKey(key);
  REQUIRE_THAT(read, IsOk());
  CHECK(read->places[0].fill == place.fill);
  CHECK_THAT(read->indexed_values, IsEmpty());
}

// Returns a row of two datasets. The row has several parts in one of them.
RowKey Gathered() {
  RowKey row;
  RowPlace& direct = row.places.emplace_back();
  direct.length = 100;
  RowPlace& parts = row.places.emplace_back();
  parts.kind = RowPlace::Kind::kParts;
  parts.length = 30;
  parts.filters = {{FilterKind::kDeflate}};
  parts.row = 3;
  parts.element_bytes = 4;
  parts.shape = {10, 6};
  parts.chunk = {8, 5, 6};
  parts.chunks = {{0, 0, 20, 1}, {1, 20, 10, UINT32_MAX}};
  row.pieces = {{5000, 120}, {100, 10}};
  return row;
}

TEST_CASE("An HDF5 row key has the places of several datasets",
          "[hdf5][row_key]") {
  const RowKey row = Gathered();
  const std::string key = EncodeRowKey(row.places, row.pieces, {"abc", ""});
  const auto read = DecodeRowKey(key);
  REQUIRE_THAT(read, IsOk());
  CHECK(read->pieces == row.pieces);
  CHECK_THAT(read->indexed_values, ElementsAre("abc", ""));
  REQUIRE(read->places.size() == 2u);
  CHECK(read->places[0].kind == RowPlace::Kind::kDirect);
  CHECK(read->places[0].length == 100u);
  const RowPlace& parts = read->places[1];
  CHECK(parts.kind == RowPlace::Kind::kParts);
  CHECK(parts.length == 30u);
  CHECK(parts.row == 3u);
  CHECK(parts.chunk_bytes == 8u * 5 * 6 * 4);
  CHECK_THAT(parts.shape, ElementsAre(10, 6));
  CHECK_THAT(parts.chunk, ElementsAre(8, 5, 6));
  REQUIRE(parts.chunks.size() == 2u);
  CHECK(parts.chunks[0].mask == 1u);
  CHECK(parts.chunks[1].number == 1u);
  CHECK(parts.chunks[1].offset == 20u);
  CHECK(parts.chunks[1].bytes == 10u);
  CHECK(parts.chunks[1].mask == UINT32_MAX);
}

// An index of many rows is small if their keys begin with the same bytes.
TEST_CASE("HDF5 rows of the same chunks have keys that begin alike",
          "[hdf5][row_key]") {
  RowKey row = Gathered();
  const std::string one = EncodeRowKey(row.places, row.pieces, {});
  row.places[1].row = 4;
  const std::string other = EncodeRowKey(row.places, row.pieces, {});
  REQUIRE(one.size() == other.size());
  CHECK(one.substr(0, one.size() - 1) == other.substr(0, other.size() - 1));
}

TEST_CASE("The pieces of an HDF5 row key have the bytes of all places",
          "[hdf5][row_key]") {
  RowKey row = Gathered();
  row.places[0].length = 101;
  CHECK_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.places[0].length = UINT64_MAX - 29;  // the sum overflows to 0
  CHECK_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.pieces[1].length = 0;
  CHECK_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.pieces[1].length = std::uint64_t{1} << 63;
  CHECK_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.places.resize(kMostPlaces + 1);
  CHECK_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
}

TEST_CASE("A part of a gathered HDF5 row's key is not a key",
          "[hdf5][row_key]") {
  const RowKey row = Gathered();
  const std::string key = EncodeRowKey(row.places, row.pieces, {});
  for (std::size_t size = 0; size < key.size(); ++size)
    CHECK_FALSE(DecodeRowKey(std::string_view(key).substr(0, size)).ok());
}

// An unknown filter would not be applied when the chunk is read.
TEST_CASE("An HDF5 row key with a filter that is not known is refused",
          "[hdf5][row_key]") {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.chunk_bytes = 4;
  for (const int number : {1, 2, 3, 32000}) {
    place.filters = {{static_cast<FilterKind>(number)}};
    CAPTURE(number);
    CHECK_THAT(DecodeRowKey(EncodeRowKey({place}, {}, {})), IsOk());
  }
  for (const int number : {0, 4, 5, 6, 31999, 32001, 65535}) {
    place.filters = {{static_cast<FilterKind>(number)}};
    CAPTURE(number);
    CHECK_THAT(DecodeRowKey(EncodeRowKey({place}, {}, {})),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

// The key has a filter, the filter's element bytes, a mask, the chunk's length
// and a row. Each of the first three numbers becomes 2^32 + 1 in turn.
TEST_CASE("Numbers in an HDF5 row key that do not fit are refused",
          "[hdf5][row_key]") {
  const std::string large = "\x81\x80\x80\x80\x10";
  CHECK_THAT(DecodeRowKey("\1\1"
                          "\1\1\1"
                          "\1\1"),
             IsOk());
  CHECK_FALSE(DecodeRowKey("\1\1" + large +
                           "\1\1"
                           "\1\1")
                  .ok());
  CHECK_FALSE(DecodeRowKey("\1\1"
                           "\1" +
                           large +
                           "\1"
                           "\1\1")
                  .ok());
  CHECK_FALSE(DecodeRowKey("\1\1"
                           "\1\1" +
                           large + "\1\1")
                  .ok());
}

TEST_CASE("Other bytes are not an HDF5 row key", "[hdf5][row_key]") {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.filters = {{FilterKind::kDeflate}};
  const std::string key = EncodeRowKey({place}, {}, {"abc"});
  const std::string_view whole = key;
  // A key without indexed values is still a key.
  const std::size_t place_only = key.size() - 4;
  for (std::size_t size = 0; size < key.size(); ++size) {
    CAPTURE(size);
    CHECK(DecodeRowKey(whole.substr(0, size)).ok() == (size == place_only));
  }
  CHECK_FALSE(DecodeRowKey("\x09").ok());
}

}  // namespace
}  // namespace forebay::dataset::hdf5
