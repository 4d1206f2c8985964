#include "server/pipeline/decode/gif_codes.h"

#include <initializer_list>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::pipeline::decode {
namespace {

constexpr unsigned kBits = 2;  // so codes begin with 3 bits
constexpr unsigned kClear = 4;
constexpr unsigned kEnd = 5;

// A sub-block of codes that all have 3 bits.
std::vector<std::uint8_t> Block(std::initializer_list<unsigned> codes) {
  unsigned bits = 0;
  int held = 0;
  std::vector<std::uint8_t> bytes;
  for (const unsigned code : codes) {
    bits |= code << held;
    held += 3;
    for (; held >= 8; held -= 8, bits >>= 8)
      bytes.push_back(static_cast<std::uint8_t>(bits));
  }
  bytes.push_back(static_cast<std::uint8_t>(bits));
  bytes.insert(bytes.begin(), static_cast<std::uint8_t>(bytes.size()));
  return bytes;
}

TEST(CheckGifCodes, CountsThePixelsOfStrings) {
  // 1, then the string 1 1, which is code 6 as soon as it is needed.
  const auto data = Block({kClear, 1, 6});
  EXPECT_EQ(CheckGifCodes(data, kBits, 3), GifCodes::kWhole);
  EXPECT_EQ(CheckGifCodes(data, kBits, 1), GifCodes::kWhole);
}

TEST(CheckGifCodes, FindsTheEnd) {
  EXPECT_EQ(CheckGifCodes(Block({kClear, 1, 6, kEnd}), kBits, 4),
            GifCodes::kTruncated);
  auto data = Block({kClear, 1, 2, 3, 1, 2, 3, 1});
  data.pop_back();
  EXPECT_EQ(CheckGifCodes(data, kBits, 2), GifCodes::kTruncated);
  EXPECT_EQ(CheckGifCodes({}, kBits, 1), GifCodes::kTruncated);
}

TEST(CheckGifCodes, FindsCodesThatStandForNothing) {
  EXPECT_EQ(CheckGifCodes(Block({kClear, 1, 7}), kBits, 4), GifCodes::kCorrupt);
  EXPECT_EQ(CheckGifCodes(Block({kClear, 6}), kBits, 4), GifCodes::kCorrupt);
}

}  // namespace
}  // namespace forebay::pipeline::decode
