#include "server/pipeline/decode/any_image_decoder.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

absl::Span<const std::uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST_CASE("The image decoder says what an unknown file looks like",
          "[decode][any_image_decoder]") {
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
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK(std::string(status.message()) ==
          "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image but "
          "looks like " +
              description);
  }
  const absl::Status status = decoder.Open(BytesOf("\x01\x02\x03")).status();
  CHECK(std::string(status.message()) ==
        "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image");
  CHECK(std::string(decoder.Open({}).status().message()) == "is an empty file");
}

TEST_CASE("The image decoder decodes once for each open",
          "[decode][any_image_decoder]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  const Region region{0, 0, 1, 1};
  for (const char* name :
       {"420.jpg", "rgb8.png", "lossy.webp", "avif/420.avif", "inside.gif",
        "rgb_tiles.tif", "rgb24.bmp", "rgb8.ppm", "rgb_61x43.raw"}) {
    const auto file = GoldenFile(name);
    PixelSink sink(region);
    CHECK_THAT(decoder.Decode(region, sink),
               HasCode(absl::StatusCode::kFailedPrecondition));
    REQUIRE_THAT(decoder.Open(file), IsOk());
    CHECK_THAT(decoder.Decode(region, sink), IsOk());
    CHECK_THAT(decoder.Decode(region, sink),
               HasCode(absl::StatusCode::kFailedPrecondition));
  }
}

TEST_CASE("The image decoder is ready again after an error",
          "[decode][any_image_decoder]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  const Region region{3, 5, 20, 10};
  for (const char* name :
       {"420.jpg", "420_progressive.jpg", "rgb8.png", "rgb8_interlaced.png",
        "avif/420.avif", "avif/grid.avif", "lossy.webp", "lossless.webp",
        "colors_5.gif", "rgb_lzw.tif", "rgb24.bmp", "gray8.pgm",
        "gray_61x43.raw"}) {
    auto file = GoldenFile(name);
    REQUIRE_THAT(decoder.Open(file), IsOk());
    PixelSink before(region);
    REQUIRE_THAT(decoder.Decode(region, before), IsOk());

    auto cut = file;
    cut.resize(file.size() / 2);
    PixelSink failed(region);
    absl::Status status = decoder.Open(cut).status();
    if (status.ok()) status = decoder.Decode(region, failed);
    CAPTURE(name);
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));

    REQUIRE_THAT(decoder.Open(file), IsOk());
    PixelSink after(region);
    REQUIRE_THAT(decoder.Decode(region, after), IsOk());
    CHECK(before.pixels() == after.pixels());
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
