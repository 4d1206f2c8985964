// Every kind of image against what Pillow sees in it.

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/pipeline/decode/any_image_decoder.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

TEST(Golden, EveryImageHasPillowsPixels) {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const GoldenImage& golden : GoldenImages()) {
    SCOPED_TRACE(golden.name);
    const auto file = GoldenFile(golden.name);
    const auto info = decoder.Open(file);
    ASSERT_TRUE(info.ok()) << info.status();
    ASSERT_EQ(info->width, golden.width);
    ASSERT_EQ(info->height, golden.height);
    const Region whole{0, 0, info->width, info->height};
    PixelSink sink(whole);
    const absl::Status status = decoder.Decode(whole, sink);
    ASSERT_TRUE(status.ok()) << status;
    const auto& pixels = sink.pixels();
    ASSERT_EQ(pixels.size(), std::size_t{3} * info->width * info->height);
    for (const GoldenPixel& pixel : golden.pixels) {
      const std::size_t at = 3 * (std::size_t{pixel.y} * info->width + pixel.x);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(pixels[at + c], pixel.rgb[c])
            << "x " << pixel.x << ", y " << pixel.y << ", channel " << c;
      }
    }
    EXPECT_EQ(crc32(0, pixels.data(), static_cast<uInt>(pixels.size())),
              golden.crc);
  }
}

TEST(Golden, ReducedJpegsHavePillowsPixels) {
  AnyImageDecoder decoder{DecodeLimits{}};
  std::ifstream lines("tests/golden/decode/reduced.txt");
  std::string name;
  std::uint32_t factor = 0, width = 0, height = 0, crc = 0;
  int images = 0;
  while (lines >> name >> std::dec >> factor >> width >> height >> std::hex >>
         crc) {
    SCOPED_TRACE(name + " " + std::to_string(factor));
    const auto file = GoldenFile(name);
    const ImageInfo info = decoder.Open(file).value();
    const Reduction scale = decoder.Reduce(factor);
    ASSERT_EQ(scale.Reduced(info.width), width);
    ASSERT_EQ(scale.Reduced(info.height), height);
    const Region whole{0, 0, width, height};
    PixelSink sink(whole);
    ASSERT_TRUE(decoder.Decode(whole, sink).ok());
    const auto& pixels = sink.pixels();
    EXPECT_EQ(crc32(0, pixels.data(), static_cast<uInt>(pixels.size())), crc);
    ++images;
  }
  EXPECT_GT(images, 80);
}

// The pixels of the image's first rows; nothing if it is refused.
std::vector<std::uint8_t> TopOf(AnyImageDecoder& decoder,
                                const std::vector<std::uint8_t>& file) {
  const auto info = decoder.Open(file);
  if (!info.ok()) return {};
  const Region top{0, 0, info->width, std::min(info->height, 3u)};
  PixelSink sink(top);
  if (!decoder.Decode(top, sink).ok()) return {};
  return sink.pixels();
}

std::string SuffixOf(const std::string& name) {
  return name.substr(name.rfind('.'));
}

TEST(Golden, AnImageDoesNotDependOnTheOneBefore) {
  std::map<std::string, std::vector<std::uint8_t>> files;
  for (const GoldenImage& golden : GoldenImages())
    files[golden.name] = GoldenFile(golden.name);
  for (const std::string& name : RefusedImages())
    files[name] = GoldenFile(name);
  std::map<std::string, std::vector<std::uint8_t>> alone;
  for (const auto& [name, file] : files) {
    AnyImageDecoder decoder{DecodeLimits{}};
    alone[name] = TopOf(decoder, file);
  }
  for (const std::string& name : RefusedImages())
    EXPECT_TRUE(alone[name].empty()) << name;
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const auto& [before, first] : files) {
    for (const auto& [name, file] : files) {
      // Each format has a decoder of its own.
      if (SuffixOf(before) != SuffixOf(name)) continue;
      TopOf(decoder, first);
      ASSERT_EQ(TopOf(decoder, file), alone[name])
          << name << " after " << before;
    }
  }
}

TEST(Golden, ImagesThatPillowRefusesAreCorrupt) {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const std::string& name : RefusedImages()) {
    ASSERT_FALSE(TopOf(decoder, GoldenFile("420.jpg")).empty());
    const auto file = GoldenFile(name);
    const auto info = decoder.Open(file);
    ASSERT_TRUE(info.ok()) << info.status();
    const Region whole{0, 0, info->width, info->height};
    PixelSink sink(whole);
    EXPECT_EQ(decoder.Decode(whole, sink).code(), absl::StatusCode::kDataLoss)
        << name;
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
