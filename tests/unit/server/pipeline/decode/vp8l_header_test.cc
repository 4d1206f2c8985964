#include "server/pipeline/decode/vp8l_header.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/pipeline/decode/webp_decoder.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMost = 1 << 20;

class BitWriter {
 public:
  void Put(std::uint32_t bits, int count) {
    for (int i = 0; i < count; ++i, ++at_) {
      if (at_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() |= static_cast<std::uint8_t>((bits >> i & 1U) << (at_ % 8));
    }
  }
  void PutCodeOfOne(std::uint32_t symbol) {
    Put(0b101, 3);  // simple, one symbol, of eight bits
    Put(symbol, 8);
  }
  void PutCodeOfTwo(std::uint32_t first, std::uint32_t second) {
    Put(0b111, 3);
    Put(first, 8);
    Put(second, 8);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  int at_ = 0;
};

// An image of 40 x 40 pixels, up to its own Huffman codes, with a color cache
// of 11 bits. The sets of its blocks are by turns `high` * 256 and that plus
// 231.
BitWriter Header(std::uint32_t high) {
  BitWriter bits;
  bits.Put(0x2f, 8);
  bits.Put(39, 14);
  bits.Put(39, 14);
  bits.Put(0, 4);
  bits.Put(0, 1);  // no transform
  bits.Put(1, 1);
  bits.Put(11, 4);
  bits.Put(1, 1);  // several sets
  bits.Put(0, 3);  // blocks of 4 x 4
  bits.Put(0, 1);
  bits.PutCodeOfTwo(0, 231);
  bits.PutCodeOfOne(high);
  for (int i = 0; i < 3; ++i) bits.PutCodeOfOne(0);
  for (std::uint32_t i = 0; i < 100; ++i) bits.Put(i % 2, 1);
  return bits;
}

TEST(Vp8lHeaderTest, CountsSetsThatNoBlockUses) {
  const auto tables = ReadVp8lTables(Header(3).bytes(), kMost);
  ASSERT_TRUE(tables.has_value());
  EXPECT_EQ(tables->sets, 1000u);
  EXPECT_EQ(tables->cache_bits, 11u);
}

TEST(Vp8lHeaderTest, CountsOnlyThoseThatAreUsedOfMany) {
  const auto tables = ReadVp8lTables(Header(255).bytes(), kMost);
  ASSERT_TRUE(tables.has_value());
  EXPECT_EQ(tables->sets, 2u);
}

TEST(Vp8lHeaderTest, ReadsWhatLibwebpWrites) {
  for (const char* name :
       {"lossless.webp", "lossless_2_colors.webp", "lossless_8_colors.webp",
        "lossless_5x3.webp", "lossless_alpha.webp", "animated_lossless.webp"}) {
    const Bytes file = GoldenFile(name);
    const std::string type = "VP8L";
    const auto chunk =
        std::search(file.begin(), file.end(), type.begin(), type.end());
    ASSERT_GT(file.end() - chunk, 8) << name;
    const auto tables = ReadVp8lTables(Bytes(chunk + 8, file.end()), kMost);
    ASSERT_TRUE(tables.has_value()) << name;
    EXPECT_GE(tables->sets, 1u);
    EXPECT_LT(tables->sets, 100u) << name;
  }
}

TEST(Vp8lHeaderTest, ReadsNothingBehindTheEnd) {
  const Bytes whole = Header(3).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(),
                    whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(ReadVp8lTables(cut, kMost).has_value()) << size;
  }
}

TEST(Vp8lHeaderTest, KeepsToTheLimitOfPixels) {
  EXPECT_TRUE(ReadVp8lTables(Header(3).bytes(), 100).has_value());
  EXPECT_FALSE(ReadVp8lTables(Header(3).bytes(), 99).has_value());
}

TEST(Vp8lHeaderTest, BoundsWhatADecoderClaims) {
  BitWriter bits = Header(3);
  for (int i = 0; i < 5000; ++i) bits.PutCodeOfOne(0);
  const Bytes& stream = bits.bytes();
  Bytes file = {'R', 'I', 'F', 'F', 0,   0,   0, 0, 'W', 'E',
                'B', 'P', 'V', 'P', '8', 'L', 0, 0, 0,   0};
  file.insert(file.end(), stream.begin(), stream.end());
  if (file.size() % 2 != 0) file.push_back(0);
  const auto put = [&file](std::size_t at, std::size_t size) {
    for (std::size_t i = 0; i < 4; ++i)
      file[at + i] = static_cast<std::uint8_t>(size >> (8 * i));
  };
  put(4, file.size() - 8);
  put(16, stream.size());
  WebpDecoder decoder{DecodeLimits{}};
  const auto info = decoder.Open(file);
  ASSERT_TRUE(info.ok()) << info.status();
  // libwebp's tables of that cache have 5004 codes of four bytes.
  EXPECT_GT(info->scratch_bytes, 1000u * 5004 * 4);
  PixelSink sink({0, 0, 40, 40});
  EXPECT_TRUE(decoder.Decode({0, 0, 40, 40}, sink).ok());
}

}  // namespace
}  // namespace forebay::pipeline::decode
