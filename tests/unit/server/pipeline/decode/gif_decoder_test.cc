#include "server/pipeline/decode/gif_decoder.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using File = std::vector<std::uint8_t>;

// The last bytes of a file may be missing: the data's end code, the end mark
// and the trailer.
TEST_CASE(
    "The GIF decoder finds any truncation though only the top is asked for",
    "[decode][gif_decoder]") {
  GifDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"colors_5.gif",
                                          "colors_64_interlaced.gif",
                                          "transparent.gif", "inside.gif"};
  ExpectTruncationsFound(decoder, names, {.step = 1, .unneeded = 4});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    CHECK(std::string(DecodeTop(decoder, cut).message()) ==
          "is a truncated GIF image");
    cut = file;
    cut.resize(file.size() - 2);
    CAPTURE(name);
    CHECK_THAT(DecodeTop(decoder, cut), IsOk());
  }
}

TEST_CASE("The GIF decoder finds damage", "[decode][gif_decoder]") {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("inside.gif");
  const std::size_t frame = 13 + 24;
  REQUIRE(file[frame] == ',');
  file[frame + 10] = 13;  // the LZW minimum code size
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt GIF image");
  file = GoldenFile("inside.gif");
  file[frame + 5] = 0;  // the frame's width
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt GIF image");
  file = GoldenFile("inside.gif");
  file[frame] = ';';
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a GIF image without a frame");
  file = GoldenFile("inside.gif");
  file[3] = '9';
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is not a GIF image");
}

TEST_CASE(
    "The GIF decoder finds codes that stand for nothing though only the top is "
    "asked for",
    "[decode][gif_decoder]") {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("colors_256.gif");
  for (std::size_t i = file.size() - 40; i < file.size() - 20; ++i)
    file[i] = 0xff;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt GIF image");
}

TEST_CASE("The GIF decoder refuses more pixels than the limit",
          "[decode][gif_decoder]") {
  GifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("inside.gif");
  for (std::size_t i = 6; i < 10; ++i) file[i] = 0xff;
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(std::string(status.message()) ==
        "is 65535 x 65535 pixels, more than the limit of 178956970 pixels");
}

TEST_CASE("The GIF decoder refuses pixels beyond the scratch limit",
          "[decode][gif_decoder]") {
  GifDecoder decoder{DecodeLimits{.scratch_bytes = 200'000}};
  File file = GoldenFile("interlaced_3x21.gif");
  CHECK_THAT(decoder.Open(file), IsOk());
  const std::size_t frame = 13 + 24;
  REQUIRE(file[frame] == ',');
  file[frame + 6] = 4;  // the high bytes of its width and height
  file[frame + 8] = 4;
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("is a GIF image of 1031 x 1047 pixels that needs "));
}

}  // namespace
}  // namespace forebay::pipeline::decode
