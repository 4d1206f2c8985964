#include "server/pipeline/decode/upright_decoder.h"

#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

using Bytes = std::vector<std::uint8_t>;

// A line of upright.txt, which describes an image that Pillow's exif_transpose
// made.
struct Upright {
  std::string name;
  std::uint32_t width, height;
  std::uint32_t crc;
};

std::vector<Upright> Uprights() {
  std::ifstream file("tests/golden/decode/upright.txt");
  std::vector<Upright> images;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Upright image;
    words >> image.name >> image.width >> image.height >> std::hex >> image.crc;
    CAPTURE(line);
    CHECK(words);
    image.name = "upright/" + image.name;
    images.push_back(image);
  }
  CHECK(images.size() > 50u);
  return images;
}

Bytes Decoded(UprightDecoder& decoder, const Bytes& file, const Region& region,
              std::uint32_t factor = 1) {
  const auto info = decoder.OpenUpright(file);
  CHECK_THAT(info, IsOk());
  if (factor > 1) decoder.Reduce(factor);
  PixelSink sink(region);
  const absl::Status status = decoder.Decode(region, sink);
  CHECK_THAT(status, IsOk());
  return sink.pixels();
}

// Returns a region of an image whose rows have `width` pixels.
Bytes Cut(const Bytes& image, std::uint32_t width, const Region& region) {
  Bytes cut;
  for (std::uint32_t y = region.top; y < region.top + region.height; ++y) {
    const auto row =
        image.begin() +
        static_cast<std::ptrdiff_t>(3 * (std::size_t{y} * width + region.left));
    cut.insert(cut.end(), row, row + 3 * std::ptrdiff_t{region.width});
  }
  return cut;
}

TEST_CASE("The upright decoder turns images as Pillow does",
          "[decode][upright_decoder]") {
  UprightDecoder decoder{DecodeLimits{}};
  for (const Upright& upright : Uprights()) {
    INFO(upright.name);
    const Bytes file = GoldenFile(upright.name);
    const auto info = decoder.OpenUpright(file);
    REQUIRE_THAT(info, IsOk());
    REQUIRE(info->width == upright.width);
    REQUIRE(info->height == upright.height);
    const Bytes pixels =
        Decoded(decoder, file, {0, 0, info->width, info->height});
    CHECK(crc32(0, pixels.data(), static_cast<uInt>(pixels.size())) ==
          upright.crc);
  }
}

TEST_CASE(
    "The upright decoder leaves images alone if it is not asked to turn them",
    "[decode][upright_decoder]") {
  UprightDecoder decoder{DecodeLimits{}};
  const Bytes file = GoldenFile("upright/6.jpg");
  REQUIRE_THAT(decoder.OpenUpright(file), IsOk());
  const auto info = decoder.Open(file);
  REQUIRE_THAT(info, IsOk());
  CHECK(info->width == 29u);
  CHECK(info->height == 18u);
  const Region all = {0, 0, 29, 18};
  PixelSink sink(all);
  REQUIRE_THAT(decoder.Decode(all, sink), IsOk());
  CHECK(sink.pixels() == Decoded(decoder, GoldenFile("upright/1.jpg"), all));
}

TEST_CASE("The upright decoder gives regions at each scale",
          "[decode][upright_decoder]") {
  constexpr std::uint32_t kSeed = 20231126;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  UprightDecoder decoder{DecodeLimits{}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const char* suffix : {".jpg", ".png"}) {
      const Bytes file =
          GoldenFile("upright/" + std::to_string(orientation) + suffix);
      for (const std::uint32_t factor : {1, 2, 4, 8}) {
        const ImageInfo info = decoder.OpenUpright(file).value();
        Reduction scale;
        if (factor > 1) scale = decoder.Reduce(factor);
        const std::uint32_t width = scale.Reduced(info.width);
        const std::uint32_t height = scale.Reduced(info.height);
        const Bytes whole =
            Decoded(decoder, file, {0, 0, width, height}, factor);
        for (int i = 0; i < 20; ++i) {
          Region region;
          region.left = draw(0, width - 1);
          region.top = draw(0, height - 1);
          region.width = draw(1, width - region.left);
          region.height = draw(1, height - region.top);
          UNSCOPED_INFO(orientation << suffix << " 1/" << factor);
          REQUIRE(Decoded(decoder, file, region, factor) ==
                  Cut(whole, width, region));
        }
      }
    }
  }
}

// An image of 29 x 18 pixels has 8 x 5 pixels at 1/4. Its last column and row
// stand for only 1 and 2 pixels.
TEST_CASE("The upright decoder tells where a reduced image begins",
          "[decode][upright_decoder]") {
  struct Case {
    int orientation;
    std::uint32_t left, top;
  };
  UprightDecoder decoder{DecodeLimits{}};
  for (const Case& each : {Case{1, 0, 0},
                           {2, 3, 0},
                           {3, 3, 2},
                           {4, 0, 2},
                           {5, 0, 0},
                           {6, 2, 0},
                           {7, 2, 3},
                           {8, 0, 3}}) {
    const Bytes file =
        GoldenFile("upright/" + std::to_string(each.orientation) + ".jpg");
    REQUIRE_THAT(decoder.OpenUpright(file), IsOk());
    const Reduction scale = decoder.Reduce(4);
    CHECK(scale.factor == 4u);
    CAPTURE(each.orientation);
    CHECK(scale.left == each.left);
    CHECK(scale.top == each.top);
  }
}

TEST_CASE("The upright decoder counts the turned pixels as scratch",
          "[decode][upright_decoder]") {
  const Bytes file = GoldenFile("upright/6.jpg");
  UprightDecoder decoder{DecodeLimits{}};
  const std::uint64_t stored = decoder.Open(file)->scratch_bytes;
  const std::uint64_t turned = decoder.OpenUpright(file)->scratch_bytes;
  CHECK(turned >= stored + 3 * 29 * 18);
  UprightDecoder small{{.scratch_bytes = turned - 1}};
  CHECK_THAT(small.Open(file), IsOk());
  CHECK_THAT(small.OpenUpright(file),
             HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("The upright decoder takes only regions of the turned image",
          "[decode][upright_decoder]") {
  const Bytes file = GoldenFile("upright/6.jpg");
  UprightDecoder decoder{DecodeLimits{}};
  for (const Region& region :
       {Region{0, 0, 29, 18}, {0, 0, 0, 1}, {18, 0, 1, 1}, {0, 29, 1, 1}}) {
    REQUIRE_THAT(decoder.OpenUpright(file), IsOk());
    PixelSink sink(region);
    CHECK_THAT(decoder.Decode(region, sink),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
