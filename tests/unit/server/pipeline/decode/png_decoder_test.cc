#include "server/pipeline/decode/png_decoder.h"

#include <zlib.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using ::testing::HasSubstr;
using File = std::vector<std::uint8_t>;

void PutBigEndian(File& file, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    file[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

// `file` with another size in its header, checksum and all.
File WithSize(File file, std::uint32_t width, std::uint32_t height) {
  PutBigEndian(file, 16, width);
  PutBigEndian(file, 20, height);
  PutBigEndian(file, 29,
               static_cast<std::uint32_t>(crc32(0, file.data() + 12, 17)));
  return file;
}

absl::Status DecodeTop(PngDecoder& decoder, const File& file) {
  const auto info = decoder.Open(file);
  if (!info.ok()) return info.status();
  const Region region{0, 0, info->width, 1};
  PixelSink sink(region);
  return decoder.Decode(region, sink);
}

TEST(PngDecoder, FindsAnyTruncationThoughOnlyTheTopIsAskedFor) {
  PngDecoder decoder{DecodeLimits{}};
  for (const char* name :
       {"rgb8.png", "rgb16_interlaced.png", "palette4.png", "filtered.png"}) {
    const File file = GoldenFile(name);
    ASSERT_TRUE(DecodeTop(decoder, file).ok());
    constexpr std::size_t kEndChunk = 12;
    for (std::size_t size = 0; size + kEndChunk < file.size(); size += 3) {
      const File cut(file.begin(),
                     file.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(DecodeTop(decoder, cut).code(), absl::StatusCode::kDataLoss)
          << name << " cut to " << size << " bytes";
    }
    File cut = file;
    cut.resize(file.size() / 2);
    EXPECT_THAT(std::string(DecodeTop(decoder, cut).message()),
                "is a truncated PNG image");
  }
}

TEST(PngDecoder, FindsDamage) {
  PngDecoder decoder{DecodeLimits{}};
  File header = GoldenFile("rgb8.png");
  header[30] ^= 1;
  EXPECT_THAT(std::string(DecodeTop(decoder, header).message()),
              HasSubstr("is a corrupt PNG image: "));
  File data = GoldenFile("rgb8.png");
  data[60] ^= 0x55;
  const auto info = decoder.Open(data);
  ASSERT_TRUE(info.ok());
  const Region region{0, 0, info->width, info->height};
  PixelSink sink(region);
  const absl::Status status = decoder.Decode(region, sink);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is a corrupt PNG image: "));
}

TEST(PngDecoder, RefusesMorePixelsThanTheLimit) {
  PngDecoder decoder{DecodeLimits{}};
  const absl::Status status =
      decoder.Open(WithSize(GoldenFile("rgb8.png"), 60000, 60000)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              "is 60000 x 60000 pixels, more than the limit of 178956970 "
              "pixels");
}

TEST(PngDecoder, RefusesPixelsBeyondTheScratchLimit) {
  PngDecoder decoder{DecodeLimits{}};
  const absl::Status status =
      decoder.Open(WithSize(GoldenFile("rgb8_interlaced.png"), 12000, 12000))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("12000 x 12000"));
  // Row by row it needs but a few rows.
  EXPECT_TRUE(
      decoder.Open(WithSize(GoldenFile("rgb8.png"), 12000, 12000)).ok());
}

}  // namespace
}  // namespace forebay::pipeline::decode
