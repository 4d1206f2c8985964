#include "server/pipeline/decode/bmp_decoder.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using ::testing::HasSubstr;
using File = std::vector<std::uint8_t>;

TEST(BmpDecoder, FindsAnyTruncationThoughOnlyTheTopIsAskedFor) {
  BmpDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"rgb24.bmp", "rgb24_top_down.bmp",
                                          "palette4.bmp"};
  ExpectTruncationsFound(decoder, names, {.step = 1});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    EXPECT_EQ(std::string(DecodeTop(decoder, cut).message()),
              "is a truncated BMP image");
  }
}

TEST(BmpDecoder, NamesWhatItDoesNotRead) {
  BmpDecoder decoder{DecodeLimits{}};
  const std::pair<const char*, const char*> cases[] = {
      {"unread/bits16.bmp",
       "is a BMP image of 16 bits a pixel, which is not read"},
      {"unread/runs.bmp", "is a BMP image of packed runs, which is not read"},
      {"unread/lacks_colors.bmp", "is a BMP image that lacks some colors"},
  };
  for (const auto& [name, message] : cases) {
    const absl::Status status = DecodeTop(decoder, GoldenFile(name));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(std::string(status.message()), message);
  }
  File file = GoldenFile("rgb24.bmp");
  file[14] = 12;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a BMP image with OS/2's header, which is not read");
}

TEST(BmpDecoder, FindsDamage) {
  BmpDecoder decoder{DecodeLimits{}};
  // The width, the height, the planes, the pixels' place.
  for (const std::size_t at : {21u, 26u, 10u}) {
    File file = GoldenFile("rgb24.bmp");
    file[at] = 0x80;
    EXPECT_EQ(DecodeTop(decoder, file).code(), absl::StatusCode::kDataLoss);
  }
  File file = GoldenFile("palette8.bmp");
  file[11] = 0;  // the palette has no room
  file[10] = 20;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt BMP image");
}

TEST(BmpDecoder, RefusesWhatPillowRefuses) {
  BmpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb24.bmp");
  file[30] = 4;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a BMP image of an unknown compression, which is not read");
  file = GoldenFile("rgbx32_masks.bmp");
  ASSERT_TRUE(DecodeTop(decoder, file).ok());
  file[55] = 0x7f;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a BMP image with such masks of its colors, which is not read");
  file = GoldenFile("palette8.bmp");
  file[48] = 1;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a corrupt BMP image");
}

TEST(BmpDecoder, SaysThatItReadsNoGap) {
  BmpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb24.bmp");
  file.insert(file.begin() + 54, 6, 0);
  file[10] += 6;
  EXPECT_EQ(std::string(DecodeTop(decoder, file).message()),
            "is a BMP image with something between its header and its pixels, "
            "which is not read");
}

TEST(BmpDecoder, KeepsWithinItsLimits) {
  BmpDecoder decoder{DecodeLimits{.scratch_bytes = 5000}};
  absl::Status status = decoder.Open(GoldenFile("rgb24.bmp")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is a BMP image of 53 x 37 pixels that needs "));
  File file = GoldenFile("rgb24.bmp");
  file[20] = file[24] = 1;
  status = decoder.Open(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()),
            "is 65589 x 65573 pixels, more than the limit of 178956970 pixels");
}

}  // namespace
}  // namespace forebay::pipeline::decode
