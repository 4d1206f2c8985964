// Every kind of image against what Pillow sees in it.

#include <zlib.h>

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

}  // namespace
}  // namespace forebay::pipeline::decode
