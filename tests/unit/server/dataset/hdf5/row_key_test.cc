#include "server/dataset/hdf5/row_key.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace forebay::dataset::hdf5 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RowKeyTest, IsReadAsItWasWritten) {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.filters = {{FilterKind::kShuffle, 4}, {FilterKind::kLzf}};
  place.mask = 2;
  place.chunk_bytes = 100000;
  place.row = 300;
  const std::string key = EncodeRowKey({place}, {}, {"abc", "", "x"});
  const auto read = DecodeRowKey(key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->places[0].kind, place.kind);
  ASSERT_EQ(read->places[0].filters.size(), 2u);
  EXPECT_EQ(read->places[0].filters[0].kind, FilterKind::kShuffle);
  EXPECT_EQ(read->places[0].filters[0].element_bytes, 4u);
  EXPECT_EQ(read->places[0].mask, 2u);
  EXPECT_EQ(read->places[0].chunk_bytes, 100000u);
  EXPECT_EQ(read->places[0].row, 300u);
  EXPECT_THAT(read->kept, ElementsAre("abc", "", "x"));
}

TEST(RowKeyTest, HasTheFillValue) {
  RowPlace place;
  place.kind = RowPlace::Kind::kFilled;
  place.fill = std::string("\0\1", 2);
  const std::string key = EncodeRowKey({place}, {}, {});
  const auto read = DecodeRowKey(key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->places[0].fill, place.fill);
  EXPECT_THAT(read->kept, IsEmpty());
}

// Two datasets, of which one has its rows in parts.
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

TEST(RowKeyTest, HasThePlacesOfSeveralDatasets) {
  const RowKey row = Gathered();
  const std::string key = EncodeRowKey(row.places, row.pieces, {"abc", ""});
  const auto read = DecodeRowKey(key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->pieces, row.pieces);
  EXPECT_THAT(read->kept, ElementsAre("abc", ""));
  ASSERT_EQ(read->places.size(), 2u);
  EXPECT_EQ(read->places[0].kind, RowPlace::Kind::kDirect);
  EXPECT_EQ(read->places[0].length, 100u);
  const RowPlace& parts = read->places[1];
  EXPECT_EQ(parts.kind, RowPlace::Kind::kParts);
  EXPECT_EQ(parts.length, 30u);
  EXPECT_EQ(parts.row, 3u);
  EXPECT_EQ(parts.chunk_bytes, 8u * 5 * 6 * 4);
  EXPECT_THAT(parts.shape, ElementsAre(10, 6));
  EXPECT_THAT(parts.chunk, ElementsAre(8, 5, 6));
  ASSERT_EQ(parts.chunks.size(), 2u);
  EXPECT_EQ(parts.chunks[0].mask, 1u);
  EXPECT_EQ(parts.chunks[1].number, 1u);
  EXPECT_EQ(parts.chunks[1].offset, 20u);
  EXPECT_EQ(parts.chunks[1].bytes, 10u);
  EXPECT_EQ(parts.chunks[1].mask, UINT32_MAX);
}

// So that an index of many rows is small.
TEST(RowKeyTest, RowsOfTheSameChunksHaveKeysThatBeginAlike) {
  RowKey row = Gathered();
  const std::string one = EncodeRowKey(row.places, row.pieces, {});
  row.places[1].row = 4;
  const std::string other = EncodeRowKey(row.places, row.pieces, {});
  ASSERT_EQ(one.size(), other.size());
  EXPECT_EQ(one.substr(0, one.size() - 1), other.substr(0, other.size() - 1));
}

TEST(RowKeyTest, PiecesHaveTheBytesOfAllPlaces) {
  RowKey row = Gathered();
  row.places[0].length = 101;
  EXPECT_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.places[0].length = UINT64_MAX - 29;  // overflows to 0 with the other's
  EXPECT_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.pieces[1].length = 0;
  EXPECT_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.pieces[1].length = std::uint64_t{1} << 63;
  EXPECT_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
  row = Gathered();
  row.places.resize(kMostPlaces + 1);
  EXPECT_FALSE(DecodeRowKey(EncodeRowKey(row.places, row.pieces, {})).ok());
}

TEST(RowKeyTest, APartOfAGatheredRowsKeyIsNone) {
  const RowKey row = Gathered();
  const std::string key = EncodeRowKey(row.places, row.pieces, {});
  for (std::size_t size = 0; size < key.size(); ++size)
    EXPECT_FALSE(DecodeRowKey(std::string_view(key).substr(0, size)).ok());
}

TEST(RowKeyTest, OtherBytesAreNoKey) {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.filters = {{FilterKind::kDeflate}};
  const std::string key = EncodeRowKey({place}, {}, {"abc"});
  const std::string_view whole = key;
  // Without kept values it is a key still.
  const std::size_t place_only = key.size() - 4;
  for (std::size_t size = 0; size < key.size(); ++size) {
    EXPECT_EQ(DecodeRowKey(whole.substr(0, size)).ok(), size == place_only)
        << size;
  }
  EXPECT_FALSE(DecodeRowKey("\x09").ok());
}

}  // namespace
}  // namespace forebay::dataset::hdf5
