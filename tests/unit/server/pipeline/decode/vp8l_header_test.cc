#include "server/pipeline/decode/vp8l_header.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "server/pipeline/decode/webp_decoder.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::IsOk;

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
    Put(0b101, 3);  // a simple code of one symbol, of eight bits
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

// Returns an image of 40 x 40 pixels, up to its own Huffman codes. The image
// has a color cache of 11 bits. In turns, its blocks use the sets `high` * 256
// and `high` * 256 + 231.
BitWriter Header(std::uint32_t high) {
  BitWriter bits;
  bits.Put(0x2f, 8);
  bits.Put(39, 14);
  bits.Put(39, 14);
  bits.Put(0, 4);
  bits.Put(0, 1);  // no transform
  bits.Put(1, 1);
  bits.Put(11, 4);
  bits.Put(1, 1);  // several sets of codes
  bits.Put(0, 3);  // blocks of 4 x 4
  bits.Put(0, 1);
  bits.PutCodeOfTwo(0, 231);
  bits.PutCodeOfOne(high);
  for (int i = 0; i < 3; ++i) bits.PutCodeOfOne(0);
  for (std::uint32_t i = 0; i < 100; ++i) bits.Put(i % 2, 1);
  return bits;
}

TEST_CASE("The VP8L header reader counts sets of codes that no block uses",
          "[decode][vp8l_header]") {
  const auto tables = ReadVp8lTables(Header(3).bytes(), kMost);
  REQUIRE(tables.has_value());
  CHECK(tables->sets == 1000u);
  CHECK(tables->cache_bits == 11u);
}

TEST_CASE(
    "The VP8L header reader counts only the used ones of many sets of codes",
    "[decode][vp8l_header]") {
  const auto tables = ReadVp8lTables(Header(255).bytes(), kMost);
  REQUIRE(tables.has_value());
  CHECK(tables->sets == 2u);
}

TEST_CASE("The VP8L header reader reads what libwebp writes",
          "[decode][vp8l_header]") {
  for (const char* name :
       {"lossless.webp", "lossless_2_colors.webp", "lossless_8_colors.webp",
        "lossless_5x3.webp", "lossless_alpha.webp", "animated_lossless.webp"}) {
    const Bytes file = GoldenFile(name);
    const std::string type = "VP8L";
    const auto chunk =
        std::search(file.begin(), file.end(), type.begin(), type.end());
    CAPTURE(name);
    REQUIRE(file.end() - chunk > 8);
    const auto tables = ReadVp8lTables(Bytes(chunk + 8, file.end()), kMost);
    REQUIRE(tables.has_value());
    CHECK(tables->sets >= 1u);
    CHECK(tables->sets < 100u);
  }
}

TEST_CASE("The VP8L header reader reads nothing behind the end",
          "[decode][vp8l_header]") {
  const Bytes whole = Header(3).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(),
                    whole.begin() + static_cast<std::ptrdiff_t>(size));
    CAPTURE(size);
    CHECK_FALSE(ReadVp8lTables(cut, kMost).has_value());
  }
}

TEST_CASE("The VP8L header reader keeps to the limit of pixels",
          "[decode][vp8l_header]") {
  CHECK(ReadVp8lTables(Header(3).bytes(), 100).has_value());
  CHECK_FALSE(ReadVp8lTables(Header(3).bytes(), 99).has_value());
}

TEST_CASE("The WebP decoder claims scratch for all tables of a VP8L header",
          "[decode][vp8l_header]") {
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
  REQUIRE_THAT(info, IsOk());
  // libwebp's tables for an 11-bit color cache have 5004 codes of four bytes.
  CHECK(info->scratch_bytes > 1000u * 5004 * 4);
  PixelSink sink({0, 0, 40, 40});
  CHECK_THAT(decoder.Decode({0, 0, 40, 40}, sink), IsOk());
}

}  // namespace
}  // namespace forebay::pipeline::decode
