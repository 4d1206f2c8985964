#include "server/pipeline/decode/gif_codes.h"

#include <initializer_list>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::pipeline::decode {
namespace {

constexpr unsigned kBits = 2;  // so codes begin with 3 bits
constexpr unsigned kClear = 4;
constexpr unsigned kEnd = 5;

// Returns a sub-block of codes, each of which has 3 bits.
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

TEST_CASE("The check of GIF codes counts the pixels of strings",
          "[decode][gif_codes]") {
  // Code 1 is followed by code 6, the string 1 1. This string is defined only
  // when it is used.
  const auto data = Block({kClear, 1, 6});
  CHECK(CheckGifCodes(data, kBits, 3) == GifCodes::kWhole);
  CHECK(CheckGifCodes(data, kBits, 1) == GifCodes::kWhole);
}

TEST_CASE("The check of GIF codes finds an end before the last pixel",
          "[decode][gif_codes]") {
  CHECK(CheckGifCodes(Block({kClear, 1, 6, kEnd}), kBits, 4) ==
        GifCodes::kTruncated);
  auto data = Block({kClear, 1, 2, 3, 1, 2, 3, 1});
  data.pop_back();
  CHECK(CheckGifCodes(data, kBits, 2) == GifCodes::kTruncated);
  CHECK(CheckGifCodes({}, kBits, 1) == GifCodes::kTruncated);
}

TEST_CASE("The check of GIF codes finds codes that stand for nothing",
          "[decode][gif_codes]") {
  CHECK(CheckGifCodes(Block({kClear, 1, 7}), kBits, 4) == GifCodes::kCorrupt);
  CHECK(CheckGifCodes(Block({kClear, 6}), kBits, 4) == GifCodes::kCorrupt);
}

}  // namespace
}  // namespace forebay::pipeline::decode
