#include "server/dataset/hdf5/filters.h"

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using testing::HasSubstr;

constexpr Filter kGzip = {FilterKind::kDeflate};
constexpr Filter kLzf = {FilterKind::kLzf};
constexpr Filter kFletcher = {FilterKind::kFletcher32};

std::string Gzip(const std::string& plain) {
  uLongf bytes = compressBound(static_cast<uLong>(plain.size()));
  std::string packed(bytes, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &bytes,
           AsBytes(plain).data(), static_cast<uLong>(plain.size()));
  packed.resize(bytes);
  return packed;
}

std::string Summed(std::string data) {
  const std::uint32_t sum = Fletcher32(AsBytes(data));
  for (int i = 0; i < 4; ++i) data += static_cast<char>(sum >> (8 * i));
  return data;
}

absl::StatusOr<std::string> Undo(const std::vector<Filter>& filters,
                                 std::uint32_t mask, std::string_view chunk,
                                 std::uint64_t bytes) {
  std::vector<std::uint8_t> room(RoomToUnfilter(filters, mask, bytes));
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes found,
      Unfilter(filters, mask, AsBytes(chunk), bytes, absl::MakeSpan(room)));
  return std::string(found.begin(), found.end());
}

std::string ErrorOf(const std::vector<Filter>& filters, std::string_view chunk,
                    std::uint64_t bytes) {
  return Undo(filters, 0, chunk, bytes).status().ToString();
}

TEST(ChecksumTest, IsThatOfTheFormat) {
  EXPECT_EQ(Lookup3(AsBytes("")), 0xdeadbeefu);
  EXPECT_EQ(Lookup3(AsBytes("Four score and seven years ago")), 0x17770551u);
  EXPECT_EQ(Fletcher32(AsBytes("abcde")), 0x4ff029c7u);
}

TEST(FiltersTest, AreUndoneFromTheLastOn) {
  const std::string plain(3000, 'x');
  const auto found =
      Undo({kGzip, kFletcher}, 0, Summed(Gzip(plain)), plain.size());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, plain);
  const auto other =
      Undo({kFletcher, kGzip}, 0, Gzip(Summed(plain)), plain.size());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(*other, plain);
}

TEST(FiltersTest, AreLeftOutByTheirBit) {
  const std::string plain = Summed("abcd");
  const auto found = Undo({kGzip, kFletcher}, 1, plain, 4);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, "abcd");
}

TEST(FiltersTest, ShufflesWithARest) {
  const auto found = Undo({{FilterKind::kShuffle, 2}}, 0, "acebdfg", 7);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, "abcdefg");
}

// As libhdf5 writes them for references, of which it shuffles none.
TEST(FiltersTest, AShuffleWithoutParametersIsLeftOut) {
  const std::string message{2, 2, 2, 0, 1, 0, 0, 0, 1,
                            0, 1, 0, 1, 0, 4, 0, 0, 0};
  const auto filters = ParseFilters(AsBytes(message));
  ASSERT_TRUE(filters.ok()) << filters.status();
  const std::string plain = "abcdefg";
  const auto found = Undo(*filters, 1, Gzip(plain), plain.size());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, plain);
  EXPECT_THAT(ErrorOf(*filters, Gzip(plain), plain.size()),
              HasSubstr("its filters contradict themselves"));
}

TEST(FiltersTest, LzfRefersToWhatItMakes) {
  // Three literals, then six bytes from two bytes back.
  const std::string packed = {2, 'a', 'b', 'c', '\x80', 1};
  const auto found = Undo({kLzf}, 0, packed, 9);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, "abcbcbcbc");
}

TEST(FiltersTest, DamagedDataIsAnError) {
  EXPECT_THAT(ErrorOf({kGzip}, "no zlib stream", 9),
              HasSubstr("its deflated data is damaged"));
  EXPECT_THAT(ErrorOf({kGzip}, "", 9),
              HasSubstr("its deflated data is damaged"));
  const std::string packed = Gzip(std::string(3000, 'x'));
  EXPECT_THAT(ErrorOf({kGzip}, packed.substr(0, packed.size() - 1), 3000),
              HasSubstr("its deflated data is damaged"));
  EXPECT_THAT(ErrorOf({kGzip}, packed, 2999),
              HasSubstr("a chunk has 3000 bytes instead of 2999"));
  EXPECT_THAT(ErrorOf({kLzf}, std::string{'\x20', 5}, 9),
              HasSubstr("its LZF data is damaged"));
  EXPECT_THAT(ErrorOf({kLzf}, std::string{5, 'a'}, 9),
              HasSubstr("its LZF data is damaged"));
  EXPECT_THAT(ErrorOf({kFletcher}, "abcdefgh", 4),
              HasSubstr("its checksum is"));
  EXPECT_THAT(ErrorOf({kFletcher}, "abc", 4), HasSubstr("has no checksum"));
}

// A thousand times what the shape says.
TEST(FiltersTest, InflatesNoMoreThanTheShapeSays) {
  const std::string bomb = Gzip(std::string(std::size_t{1} << 22, '\0'));
  EXPECT_THAT(ErrorOf({kGzip}, bomb, 4096),
              HasSubstr("its deflated data is damaged"));
}

TEST(FiltersTest, OthersAreNamed) {
  // Version 2, one filter: number, bytes of its name, flags, parameters.
  const std::string message{2, 1, '\x01', '\x7d', 6,   0,   0,   0,
                            0, 0, 'b',    'l',    'o', 's', 'c', 0};
  EXPECT_THAT(ParseFilters(AsBytes(message)).status().ToString(),
              HasSubstr("is written with the filter 32001 (blosc)"));
  EXPECT_FALSE(ParseFilters(AsBytes("")).ok());
}

}  // namespace
}  // namespace forebay::dataset::hdf5
