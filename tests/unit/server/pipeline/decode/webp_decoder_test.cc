#include "server/pipeline/decode/webp_decoder.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using ::testing::HasSubstr;
using File = std::vector<std::uint8_t>;

TEST(WebpDecoder, FindsAnyTruncationThoughOnlyTheTopIsAskedFor) {
  WebpDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"lossy.webp", "lossless.webp",
                                          "lossy_alpha.webp", "extended.webp",
                                          "animated.webp"};
  ExpectTruncationsFound(decoder, names, {});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    EXPECT_EQ(std::string(DecodeTop(decoder, cut).message()),
              "is a truncated WebP image");
  }
}

TEST(WebpDecoder, FindsDamage) {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossless.webp");
  for (std::size_t i = 40; i < 400; ++i) file[i] = 0xff;
  EXPECT_EQ(DecodeTop(decoder, file).code(), absl::StatusCode::kDataLoss);
  // The frame of another size than the canvas.
  file = GoldenFile("extended.webp");
  file[24] += 1;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt WebP image");
  // A frame beyond the canvas.
  file = GoldenFile("animated_offset_0.webp");
  file[24] = 20;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt WebP image");
}

TEST(WebpDecoder, FindsDamageOfTransparency) {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossy_alpha.webp");
  ASSERT_TRUE(DecodeTop(decoder, file).ok());
  const std::size_t alpha = 30 + 8;  // in the chunk ALPH
  for (std::size_t i = alpha + 1; i < alpha + 200; ++i) file[i] = 0xff;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt WebP image");
}

TEST(WebpDecoder, DoesNotMindWhatFollowsTheImage) {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossy.webp");
  file.insert(file.end(), 100, 'x');
  EXPECT_TRUE(DecodeTop(decoder, file).ok());
}

TEST(WebpDecoder, RefusesMorePixelsThanTheLimit) {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("animated.webp");
  const std::uint8_t canvas[] = {0xff, 0x7f, 0, 0xff, 0xff, 0};
  std::copy(std::begin(canvas), std::end(canvas), file.begin() + 24);
  const absl::Status status = decoder.Open(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()),
            "is 32768 x 65536 pixels, more than the limit of 178956970 pixels");
}

TEST(WebpDecoder, RefusesPixelsBeyondTheScratchLimit) {
  WebpDecoder decoder{DecodeLimits{.scratch_bytes = 200'000}};
  const absl::Status status = decoder.Open(GoldenFile("lossy.webp")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is a WebP image of 203 x 149 pixels that needs "));
  EXPECT_TRUE(decoder.Open(GoldenFile("lossy_33x16.webp")).ok());
  // Many chunks are refused before they are read.
  File file = GoldenFile("extended.webp");
  for (int i = 0; i < 20'000; ++i) {
    file.insert(file.end(), {'A', 'B', 'C', 'D', 0, 0, 0, 0});
  }
  EXPECT_EQ(decoder.Open(file).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace forebay::pipeline::decode
