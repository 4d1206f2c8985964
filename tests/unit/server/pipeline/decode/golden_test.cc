// Compares every kind of image with what Pillow decodes.

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "server/pipeline/decode/any_image_decoder.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("Every decoded image has Pillow's pixels", "[decode][golden]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const GoldenImage& golden : GoldenImages()) {
    INFO(golden.name);
    const auto file = GoldenFile(golden.name);
    const auto info = decoder.Open(file);
    REQUIRE_THAT(info, IsOk());
    REQUIRE(info->width == golden.width);
    REQUIRE(info->height == golden.height);
    const Region whole{0, 0, info->width, info->height};
    PixelSink sink(whole);
    const absl::Status status = decoder.Decode(whole, sink);
    REQUIRE_THAT(status, IsOk());
    const auto& pixels = sink.pixels();
    REQUIRE(pixels.size() == std::size_t{3} * info->width * info->height);
    for (const GoldenPixel& pixel : golden.pixels) {
      const std::size_t at = 3 * (std::size_t{pixel.y} * info->width + pixel.x);
      for (std::size_t c = 0; c < 3; ++c) {
        UNSCOPED_INFO("x " << pixel.x << ", y " << pixel.y << ", channel "
                           << c);
        CHECK(pixels[at + c] == pixel.rgb[c]);
      }
    }
    CHECK(crc32(0, pixels.data(), static_cast<uInt>(pixels.size())) ==
          golden.crc);
  }
}

TEST_CASE("Reduced JPEG images have Pillow's pixels", "[decode][golden]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  std::ifstream lines("tests/golden/decode/reduced.txt");
  std::string name;
  std::uint32_t factor = 0, width = 0, height = 0, crc = 0;
  int images = 0;
  while (lines >> name >> std::dec >> factor >> width >> height >> std::hex >>
         crc) {
    INFO(name + " " + std::to_string(factor));
    const auto file = GoldenFile(name);
    const ImageInfo info = decoder.Open(file).value();
    const Reduction scale = decoder.Reduce(factor);
    REQUIRE(scale.Reduced(info.width) == width);
    REQUIRE(scale.Reduced(info.height) == height);
    const Region whole{0, 0, width, height};
    PixelSink sink(whole);
    REQUIRE_THAT(decoder.Decode(whole, sink), IsOk());
    const auto& pixels = sink.pixels();
    CHECK(crc32(0, pixels.data(), static_cast<uInt>(pixels.size())) == crc);
    ++images;
  }
  CHECK(images > 80);
}

// Returns the pixels of the image's first rows, or an empty vector if the image
// is refused.
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

TEST_CASE("A decoded image does not depend on the one before",
          "[decode][golden]") {
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
  for (const std::string& name : RefusedImages()) {
    CAPTURE(name);
    CHECK(alone[name].empty());
  }
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const auto& [before, first] : files) {
    for (const auto& [name, file] : files) {
      // Each format has its own decoder, so only pairs of one format matter.
      if (SuffixOf(before) != SuffixOf(name)) continue;
      TopOf(decoder, first);
      UNSCOPED_INFO(name << " after " << before);
      REQUIRE(TopOf(decoder, file) == alone[name]);
    }
  }
}

TEST_CASE("The image decoder calls images corrupt that Pillow refuses",
          "[decode][golden]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const std::string& name : RefusedImages()) {
    REQUIRE_FALSE(TopOf(decoder, GoldenFile("420.jpg")).empty());
    const auto file = GoldenFile(name);
    const auto info = decoder.Open(file);
    REQUIRE_THAT(info, IsOk());
    const Region whole{0, 0, info->width, info->height};
    PixelSink sink(whole);
    CAPTURE(name);
    CHECK_THAT(decoder.Decode(whole, sink),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
