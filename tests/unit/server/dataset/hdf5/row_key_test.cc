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
  const std::string key = EncodeRowKey(place, {"abc", "", "x"});
  const auto read = DecodeRowKey(key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->place.kind, place.kind);
  ASSERT_EQ(read->place.filters.size(), 2u);
  EXPECT_EQ(read->place.filters[0].kind, FilterKind::kShuffle);
  EXPECT_EQ(read->place.filters[0].element_bytes, 4u);
  EXPECT_EQ(read->place.mask, 2u);
  EXPECT_EQ(read->place.chunk_bytes, 100000u);
  EXPECT_EQ(read->place.row, 300u);
  EXPECT_THAT(read->kept, ElementsAre("abc", "", "x"));
}

TEST(RowKeyTest, HasTheFillValue) {
  RowPlace place;
  place.kind = RowPlace::Kind::kFilled;
  place.fill = std::string("\0\1", 2);
  const std::string key = EncodeRowKey(place, {});
  const auto read = DecodeRowKey(key);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->place.fill, place.fill);
  EXPECT_THAT(read->kept, IsEmpty());
}

TEST(RowKeyTest, OtherBytesAreNoKey) {
  RowPlace place;
  place.kind = RowPlace::Kind::kChunk;
  place.filters = {{FilterKind::kDeflate}};
  const std::string key = EncodeRowKey(place, {"abc"});
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
