#include "server/dataset/shards/tar_header.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::HasCode;
using tests::IsOk;

// Returns a header of the old format, still without its checksum.
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
  REQUIRE_THAT(header, IsOk());
  CAPTURE(field);
  CHECK((*header)->data_bytes == size);
}

TEST_CASE("A tar header's size is read in every notation",
          "[shards][tar_header]") {
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

TEST_CASE("A tar header with an invalid size is refused",
          "[shards][tar_header]") {
  using std::string_view_literals::operator""sv;
  for (const std::string_view size :
       {"8"sv, "-1"sv, "12 34"sv, "0x10"sv, "1a"sv, "\t1"sv,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv,
        "\x80\0\0\1\0\0\0\0\0\0\0\0"sv, "\x81\0\0\0\0\0\0\0\0\0\0\0"sv}) {
    CAPTURE(size);
    CHECK_THAT(Parse(Block('0', "a", size)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A tar header's kind is known by its type and its name",
          "[shards][tar_header]") {
  const auto kind = [](char type, std::string_view name) {
    const auto header = Parse(Block(type, name, "10"));
    CHECK_THAT(header, IsOk());
    // Only some kinds of members have data.
    CHECK((*header)->data_bytes == ((*header)->has_data ? 8u : 0u));
    return std::make_pair((*header)->kind, (*header)->has_data);
  };
  using Kind = std::pair<TarKind, bool>;
  CHECK(kind('\0', "a") == Kind(TarKind::kFile, true));
  CHECK(kind('\0', "a/") == Kind(TarKind::kOther, false));
  CHECK(kind('0', "a") == Kind(TarKind::kFile, true));
  CHECK(kind('7', "a") == Kind(TarKind::kFile, true));
  for (const char type : {'1', '2'}) {
    CAPTURE(type);
    CHECK(kind(type, "a") == Kind(TarKind::kLink, false));
  }
  for (const char type : {'3', '4', '5', '6'}) {
    CAPTURE(type);
    CHECK(kind(type, "a") == Kind(TarKind::kOther, false));
  }
  for (const char type : {'D', 'M', 'V', '8', 'z'}) {
    CAPTURE(type);
    CHECK(kind(type, "a") == Kind(TarKind::kOther, true));
  }
  CHECK(kind('S', "a") == Kind(TarKind::kSparseFile, true));
  CHECK(kind('L', "a") == Kind(TarKind::kLongName, true));
  CHECK(kind('K', "a") == Kind(TarKind::kLongLink, true));
  CHECK(kind('x', "a") == Kind(TarKind::kAttributes, true));
  CHECK(kind('X', "a") == Kind(TarKind::kAttributes, true));
  CHECK(kind('g', "a") == Kind(TarKind::kGlobalAttributes, true));
}

TEST_CASE("A tar header's name may fill its whole field",
          "[shards][tar_header]") {
  const std::string name(100, 'n');
  std::string block = Block('0', name, "0");
  CHECK((*Parse(block))->name == name);
  const std::string prefix(155, 'p');
  block.replace(345, prefix.size(), prefix);
  // Headers without POSIX's magic have other bytes in its place.
  CHECK((*Parse(block))->name == name);
  block.replace(257, 8, "ustar  ", 8);
  CHECK((*Parse(block))->name == name);
  block.replace(257, 8, std::string("ustar\00000", 8));
  CHECK((*Parse(block))->name == prefix + "/" + name);
}

TEST_CASE("Every flipped bit of a tar header is noticed",
          "[shards][tar_header]") {
  const std::string block = GoldenFile("webdataset.tar").substr(0, kTarBlock);
  REQUIRE_THAT(ParseTarHeader(AsBytes(block)), IsOk());
  for (std::size_t bit = 0; bit < 8 * kTarBlock; ++bit) {
    // Spaces and NULs around the checksum have the same meaning, so the
    // checksum's own field is not changed.
    if (bit / 8 >= 148 && bit / 8 < 156) continue;
    std::string damaged = block;
    damaged[bit / 8] ^= 1 << bit % 8;
    CAPTURE(bit);
    CHECK_THAT(ParseTarHeader(AsBytes(damaged)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A tar header may have a signed or an unsigned checksum",
          "[shards][tar_header]") {
  std::string block = Block('0', "\xc3\xa9\xff", "0");
  Seal<signed char>(block);
  CHECK_THAT(ParseTarHeader(AsBytes(block)), IsOk());
  Seal<unsigned char>(block);
  CHECK_THAT(ParseTarHeader(AsBytes(block)), IsOk());
}

TEST_CASE("A tar header of zeros ends an archive", "[shards][tar_header]") {
  const std::string zeros(kTarBlock, '\0');
  const auto header = ParseTarHeader(AsBytes(zeros));
  REQUIRE_THAT(header, IsOk());
  CHECK_FALSE(header->has_value());
}

}  // namespace
}  // namespace forebay::dataset::shards
