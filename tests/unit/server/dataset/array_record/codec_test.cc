#include "server/dataset/array_record/codec.h"

#include <snappy.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

// Nothing, packed.
constexpr std::string_view kBrotliNothing("\x06", 1);

std::string Text() {
  std::string text;
  while (text.size() < 30) text += "abc";
  return text;
}

std::string Zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string Snappy(const std::string& text) {
  std::string packed;
  snappy::Compress(text.data(), text.size(), &packed);
  return packed;
}

// Returns "damaged" if there is an error.
std::string Unpacked(Codec codec, std::string_view packed, std::size_t length) {
  std::string text(length, '?');
  const absl::Status status =
      Decompress(codec, AsBytes(packed),
                 {reinterpret_cast<std::uint8_t*>(text.data()), length});
  if (status.ok()) return text;
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  return "damaged";
}

TEST(CodecTest, UnpacksAllOfAStreamAndNothingElse) {
  for (const auto& [codec, packed] : std::vector<std::pair<Codec, std::string>>{
           {Codec::kZstd, Zstd(Text())}, {Codec::kSnappy, Snappy(Text())}}) {
    const int number = static_cast<int>(codec);
    EXPECT_EQ(Unpacked(codec, packed, 30), Text()) << number;
    EXPECT_EQ(Unpacked(codec, packed, 29), "damaged") << number;
    EXPECT_EQ(Unpacked(codec, packed, 31), "damaged") << number;
    EXPECT_EQ(Unpacked(codec, packed + "x", 30), "damaged") << number;
    EXPECT_EQ(Unpacked(codec, "", 30), "damaged") << number;
    for (std::size_t end = 0; end < packed.size(); ++end)
      EXPECT_EQ(Unpacked(codec, packed.substr(0, end), 30), "damaged")
          << number;
  }
}

TEST(CodecTest, UnpacksNothing) {
  EXPECT_EQ(Unpacked(Codec::kZstd, Zstd(""), 0), "");
  EXPECT_EQ(Unpacked(Codec::kSnappy, Snappy(""), 0), "");
  EXPECT_EQ(Unpacked(Codec::kBrotli, kBrotliNothing, 0), "");
  EXPECT_EQ(Unpacked(Codec::kBrotli, kBrotliNothing, 1), "damaged");
  EXPECT_EQ(Unpacked(Codec::kBrotli, "", 0), "damaged");
}

TEST(CodecTest, KnowsFour) {
  int known = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto codec = CodecOf(static_cast<std::uint8_t>(byte));
    if (codec.ok()) {
      ++known;
    } else {
      EXPECT_EQ(codec.status().code(), absl::StatusCode::kUnimplemented);
    }
  }
  EXPECT_EQ(known, 4);
}

}  // namespace
}  // namespace forebay::dataset::array_record
