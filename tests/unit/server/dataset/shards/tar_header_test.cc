#include "server/dataset/shards/tar_header.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

// A header of the old format, its checksum still missing.
std::string Block(char type, std::string_view name, std::string_view size) {
  std::string block(kTarBlock, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block[156] = type;
  return block;
}

template <typename Byte>
void Seal(std::string& block) {
  block.replace(148, 8, 8, ' ');
  int sum = 0;
  for (const char byte : block) sum += static_cast<Byte>(byte);
  char digits[16] = {};
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  block.replace(148, 8, digits, 8);
}

absl::StatusOr<std::optional<TarHeader>> Parse(std::string block) {
  Seal<unsigned char>(block);
  return ParseTarHeader(AsBytes(block));
}

void ExpectSize(std::string_view field, std::uint64_t size) {
  const auto header = Parse(Block('0', "a", field));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ((*header)->data_bytes, size) << field;
}

TEST(TarHeaderTest, ReadsSizesOfEveryKind) {
  using std::string_view_literals::operator""sv;
  ExpectSize("00000000144\0"sv, 100);
  ExpectSize("000000000144"sv, 100);
  ExpectSize("        144 "sv, 100);
  ExpectSize("   144\0junk "sv, 100);
  ExpectSize("777777777777"sv, (std::uint64_t{1} << 36) - 1);
  ExpectSize("\0\0\0\0\0\0\0\0\0\0\0\0"sv, 0);
  ExpectSize("            "sv, 0);
  ExpectSize("\x80\0\0\0\0\0\0\2\x80\0\0\0"sv, std::uint64_t{10} << 30);
  ExpectSize("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"sv, INT64_MAX);
}

TEST(TarHeaderTest, RefusesOtherSizes) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view size :
       {"8"sv, "-1"sv, "12 34"sv, "0x10"sv, "1a"sv, "\t1"sv,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv,
        "\x80\0\0\1\0\0\0\0\0\0\0\0"sv, "\x81\0\0\0\0\0\0\0\0\0\0\0"sv}) {
    EXPECT_EQ(Parse(Block('0', "a", size)).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(TarHeaderTest, KnowsTheKinds) {
  const auto kind = [](char type, std::string_view name) {
    const auto header = Parse(Block(type, name, "10"));
    EXPECT_TRUE(header.ok()) << header.status();
    // Only some kinds have data.
    EXPECT_EQ((*header)->data_bytes, (*header)->has_data ? 8u : 0u);
    return std::make_pair((*header)->kind, (*header)->has_data);
  };
  using Kind = std::pair<TarKind, bool>;
  EXPECT_EQ(kind('\0', "a"), Kind(TarKind::kFile, true));
  EXPECT_EQ(kind('\0', "a/"), Kind(TarKind::kOther, false));
  EXPECT_EQ(kind('0', "a"), Kind(TarKind::kFile, true));
  EXPECT_EQ(kind('7', "a"), Kind(TarKind::kFile, true));
  for (const char type : {'1', '2'})
    EXPECT_EQ(kind(type, "a"), Kind(TarKind::kLink, false)) << type;
  for (const char type : {'3', '4', '5', '6'}) {
    EXPECT_EQ(kind(type, "a"), Kind(TarKind::kOther, false)) << type;
  }
  for (const char type : {'D', 'M', 'V', '8', 'z'}) {
    EXPECT_EQ(kind(type, "a"), Kind(TarKind::kOther, true)) << type;
  }
  EXPECT_EQ(kind('S', "a"), Kind(TarKind::kSparseFile, true));
  EXPECT_EQ(kind('L', "a"), Kind(TarKind::kLongName, true));
  EXPECT_EQ(kind('K', "a"), Kind(TarKind::kLongLink, true));
  EXPECT_EQ(kind('x', "a"), Kind(TarKind::kAttributes, true));
  EXPECT_EQ(kind('X', "a"), Kind(TarKind::kAttributes, true));
  EXPECT_EQ(kind('g', "a"), Kind(TarKind::kGlobalAttributes, true));
}

TEST(TarHeaderTest, NamesFillTheirFields) {
  const std::string name(100, 'n');
  std::string block = Block('0', name, "0");
  EXPECT_EQ((*Parse(block))->name, name);
  const std::string prefix(155, 'p');
  block.replace(345, prefix.size(), prefix);
  // Without POSIX's magic something else lies there.
  EXPECT_EQ((*Parse(block))->name, name);
  block.replace(257, 8, "ustar  ", 8);
  EXPECT_EQ((*Parse(block))->name, name);
  block.replace(257, 8, std::string("ustar\00000", 8));
  EXPECT_EQ((*Parse(block))->name, prefix + "/" + name);
}

TEST(TarHeaderTest, EveryFlippedBitIsNoticed) {
  const std::string block = GoldenFile("webdataset.tar").substr(0, kTarBlock);
  ASSERT_TRUE(ParseTarHeader(AsBytes(block)).ok());
  for (std::size_t bit = 0; bit < 8 * kTarBlock; ++bit) {
    // Blanks and NULs around the checksum mean the same.
    if (bit / 8 >= 148 && bit / 8 < 156) continue;
    std::string damaged = block;
    damaged[bit / 8] ^= 1 << bit % 8;
    EXPECT_EQ(ParseTarHeader(AsBytes(damaged)).status().code(),
              absl::StatusCode::kDataLoss)
        << bit;
  }
}

TEST(TarHeaderTest, TakesBothKindsOfSums) {
  std::string block = Block('0', "\xc3\xa9\xff", "0");
  Seal<signed char>(block);
  EXPECT_TRUE(ParseTarHeader(AsBytes(block)).ok());
  Seal<unsigned char>(block);
  EXPECT_TRUE(ParseTarHeader(AsBytes(block)).ok());
}

TEST(TarHeaderTest, ZerosEndAnArchive) {
  const std::string zeros(kTarBlock, '\0');
  const auto header = ParseTarHeader(AsBytes(zeros));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_FALSE(header->has_value());
}

}  // namespace
}  // namespace forebay::dataset::shards
