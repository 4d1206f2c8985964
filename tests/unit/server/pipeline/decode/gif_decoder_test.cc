#include "server/pipeline/decode/gif_decoder.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using ::testing::HasSubstr;
using File = std::vector<std::uint8_t>;

// The files' last bytes are the data's end code, the end mark and the trailer.
TEST(GifDecoder, FindsAnyTruncationThoughOnlyTheTopIsAskedFor) {
  GifDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"colors_5.gif",
                                          "colors_64_interlaced.gif",
                                          "transparent.gif", "inside.gif"};
  ExpectTruncationsFound(decoder, names, {.step = 1, .unneeded = 4});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    EXPECT_EQ(std::string(DecodeTop(decoder, cut).message()),
              "is a truncated GIF image");
    cut = file;
    cut.resize(file.size() - 2);
    EXPECT_TRUE(DecodeTop(decoder, cut).ok()) << name;
  }
}

TEST(GifDecoder, FindsDamage) {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("inside.gif");
  const std::size_t frame = 13 + 24;
  ASSERT_EQ(file[frame], ',');
  file[frame + 10] = 13;  // bits of a code
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt GIF image");
  file = GoldenFile("inside.gif");
  file[frame + 5] = 0;  // the frame's width
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt GIF image");
  file = GoldenFile("inside.gif");
  file[frame] = ';';
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a GIF image without a frame");
  file = GoldenFile("inside.gif");
  file[3] = '9';
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is not a GIF image");
}

TEST(GifDecoder, FindsCodesThatStandForNothingThoughOnlyTheTopIsAskedFor) {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("colors_256.gif");
  for (std::size_t i = file.size() - 40; i < file.size() - 20; ++i)
    file[i] = 0xff;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt GIF image");
}

TEST(GifDecoder, RefusesMorePixelsThanTheLimit) {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("inside.gif");
  for (std::size_t i = 6; i < 10; ++i) file[i] = 0xff;
  const absl::Status status = decoder.Open(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()),
            "is 65535 x 65535 pixels, more than the limit of 178956970 pixels");
}

TEST(GifDecoder, RefusesPixelsBeyondTheScratchLimit) {
  GifDecoder decoder{DecodeLimits{.scratch_bytes = 200'000}};
  File file = GoldenFile("interlaced_3x21.gif");
  EXPECT_TRUE(decoder.Open(file).ok());
  const std::size_t frame = 13 + 24;
  ASSERT_EQ(file[frame], ',');
  file[frame + 6] = 4;  // the high bytes of its width and height
  file[frame + 8] = 4;
  const absl::Status status = decoder.Open(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is a GIF image of 1031 x 1047 pixels that needs "));
}

}  // namespace
}  // namespace forebay::pipeline::decode
