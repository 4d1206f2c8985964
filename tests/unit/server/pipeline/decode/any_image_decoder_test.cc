#include "server/pipeline/decode/any_image_decoder.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

absl::Span<const std::uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(AnyImageDecoder, SaysWhatAStrangerLooksLike) {
  AnyImageDecoder decoder{DecodeLimits{}};
  const std::pair<std::string, std::string> cases[] = {
      {std::string("\0\0\0\x18"
                   "ftypmif1\0\0\0\0mif1heic",
                   24),
       "a HEIF image"},
      {" \n<!DOCTYPE HTML><title>404</title>", "an HTML page"},
      {"<html lang=en>", "an HTML page"},
      {"not a picture\n", "text"},
      {std::string(100, '\0'), "zero bytes"},
  };
  for (const auto& [file, description] : cases) {
    const absl::Status status = decoder.Open(BytesOf(file)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(std::string(status.message()),
              "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image but "
              "looks like " +
                  description);
  }
  const absl::Status status = decoder.Open(BytesOf("\x01\x02\x03")).status();
  EXPECT_EQ(std::string(status.message()),
            "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image");
  EXPECT_EQ(std::string(decoder.Open({}).status().message()),
            "is an empty file");
}

TEST(AnyImageDecoder, DecodesOncePerOpen) {
  AnyImageDecoder decoder{DecodeLimits{}};
  const Region region{0, 0, 1, 1};
  for (const char* name :
       {"420.jpg", "rgb8.png", "lossy.webp", "avif/420.avif", "inside.gif",
        "rgb_tiles.tif", "rgb24.bmp", "rgb8.ppm", "rgb_61x43.raw"}) {
    const auto file = GoldenFile(name);
    PixelSink sink(region);
    EXPECT_EQ(decoder.Decode(region, sink).code(),
              absl::StatusCode::kFailedPrecondition);
    ASSERT_TRUE(decoder.Open(file).ok());
    EXPECT_TRUE(decoder.Decode(region, sink).ok());
    EXPECT_EQ(decoder.Decode(region, sink).code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST(AnyImageDecoder, IsReadyAgainAfterAnError) {
  AnyImageDecoder decoder{DecodeLimits{}};
  const Region region{3, 5, 20, 10};
  for (const char* name :
       {"420.jpg", "420_progressive.jpg", "rgb8.png", "rgb8_interlaced.png",
        "avif/420.avif", "avif/grid.avif", "lossy.webp", "lossless.webp",
        "colors_5.gif", "rgb_lzw.tif", "rgb24.bmp", "gray8.pgm",
        "gray_61x43.raw"}) {
    auto file = GoldenFile(name);
    ASSERT_TRUE(decoder.Open(file).ok());
    PixelSink before(region);
    ASSERT_TRUE(decoder.Decode(region, before).ok());

    auto cut = file;
    cut.resize(file.size() / 2);
    PixelSink failed(region);
    absl::Status status = decoder.Open(cut).status();
    if (status.ok()) status = decoder.Decode(region, failed);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << name;

    ASSERT_TRUE(decoder.Open(file).ok());
    PixelSink after(region);
    ASSERT_TRUE(decoder.Decode(region, after).ok());
    EXPECT_EQ(before.pixels(), after.pixels());
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
