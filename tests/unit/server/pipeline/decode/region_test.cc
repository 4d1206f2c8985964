// Tests that a decoded region has the same pixels as the whole image has there.

#include <algorithm>
#include <cstring>
#include <random>
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

constexpr std::uint32_t kSeed = 20230817;
constexpr int kRegionsPerImage = 60;

std::uint32_t Draw(std::mt19937& random, std::uint32_t low,
                   std::uint32_t high) {
  return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
}

// Draws a part of a row or column. Half of its edges are near multiples of 8,
// where iMCUs end.
void DrawSpan(std::mt19937& random, std::uint32_t size, std::uint32_t* begin,
              std::uint32_t* length) {
  std::uint32_t edges[2];
  for (std::uint32_t& edge : edges) {
    edge = Draw(random, 0, size);
    if (Draw(random, 0, 1) == 1) {
      edge = std::min(size, edge / 8 * 8 + Draw(random, 0, 2));
    }
  }
  *begin = std::min(std::min(edges[0], edges[1]), size - 1);
  *length = std::max(1u, std::max(edges[0], edges[1]) - *begin);
}

std::vector<std::uint8_t> DecodeRegion(AnyImageDecoder& decoder,
                                       const std::vector<std::uint8_t>& file,
                                       const Region& region,
                                       std::uint32_t factor = 1) {
  PixelSink sink(region);
  const auto info = decoder.Open(file);
  CHECK_THAT(info, IsOk());
  if (factor > 1) {
    CHECK(decoder.Reduce(factor).factor == factor);
  }
  const absl::Status status = decoder.Decode(region, sink);
  CHECK_THAT(status, IsOk());
  CHECK(sink.rows() == region.height);
  return sink.pixels();
}

// Returns the number of rows that differ.
int DifferingRows(const std::vector<std::uint8_t>& whole,
                  std::uint32_t image_width, const Region& region,
                  const std::vector<std::uint8_t>& pixels) {
  const std::size_t row_bytes = std::size_t{3} * region.width;
  if (pixels.size() != row_bytes * region.height) return -1;
  int differing = 0;
  for (std::uint32_t y = 0; y < region.height; ++y) {
    const std::uint8_t* expected =
        whole.data() +
        3 * (std::size_t{region.top + y} * image_width + region.left);
    differing +=
        std::memcmp(expected, pixels.data() + y * row_bytes, row_bytes) != 0;
  }
  return differing;
}

TEST_CASE("A decoded region is bit-exact in every kind of image",
          "[decode][region]") {
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const GoldenImage& golden : GoldenImages()) {
    const auto file = GoldenFile(golden.name);
    const auto whole =
        DecodeRegion(decoder, file, {0, 0, golden.width, golden.height});
    for (int i = 0; i < kRegionsPerImage; ++i) {
      Region region;
      DrawSpan(random, golden.width, &region.left, &region.width);
      DrawSpan(random, golden.height, &region.top, &region.height);
      const auto pixels = DecodeRegion(decoder, file, region);
      UNSCOPED_INFO(golden.name << " left " << region.left << " top "
                                << region.top << " width " << region.width
                                << " height " << region.height);
      REQUIRE(DifferingRows(whole, golden.width, region, pixels) == 0);
    }
  }
}

TEST_CASE("A decoded region is bit-exact at each scale", "[decode][region]") {
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const GoldenImage& golden : GoldenImages()) {
    if (golden.name.find(".jpg") == std::string::npos) continue;
    const auto file = GoldenFile(golden.name);
    for (const std::uint32_t factor : {2, 4, 8}) {
      const Reduction reduction = {.factor = factor};
      const std::uint32_t width = reduction.Reduced(golden.width);
      const std::uint32_t height = reduction.Reduced(golden.height);
      const auto whole =
          DecodeRegion(decoder, file, {0, 0, width, height}, factor);
      for (int i = 0; i < kRegionsPerImage; ++i) {
        Region region;
        DrawSpan(random, width, &region.left, &region.width);
        DrawSpan(random, height, &region.top, &region.height);
        const auto pixels = DecodeRegion(decoder, file, region, factor);
        UNSCOPED_INFO(golden.name << " 1/" << factor << " left " << region.left
                                  << " top " << region.top << " width "
                                  << region.width << " height "
                                  << region.height);
        REQUIRE(DifferingRows(whole, width, region, pixels) == 0);
      }
    }
  }
}

TEST_CASE("A decoded region of one pixel is right everywhere",
          "[decode][region]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const char* name :
       {"420_33x16.jpg", "420_17x7.jpg", "420_5x5.jpg", "rgb_61x43.raw",
        "gray_61x43.raw", "lossy_33x16.webp", "avif/5x3.avif", "palette4.bmp",
        "bilevel.pbm", "gray4.tif", "inside.gif"}) {
    const auto file = GoldenFile(name);
    const ImageInfo info = decoder.Open(file).value();
    const auto whole =
        DecodeRegion(decoder, file, {0, 0, info.width, info.height});
    for (std::uint32_t y = 0; y < info.height; ++y) {
      for (std::uint32_t x = 0; x < info.width; ++x) {
        const Region region{x, y, 1, 1};
        UNSCOPED_INFO(name << " x " << x << " y " << y);
        REQUIRE(DifferingRows(whole, info.width, region,
                              DecodeRegion(decoder, file, region)) == 0);
      }
    }
  }
}

TEST_CASE("A region to decode must lie in the image", "[decode][region]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const char* name :
       {"420.jpg", "rgb8.png", "lossy.webp", "avif/420.avif", "rgb24.bmp",
        "rgb_tiles.tif", "inside.gif", "rgb16.ppm", "rgb_61x43.raw"}) {
    const auto file = GoldenFile(name);
    const ImageInfo info = decoder.Open(file).value();
    const Region outside[] = {
        {0, 0, 0, 1},           {0, 0, 1, 0},          {1, 0, info.width, 1},
        {0, 1, 1, info.height}, {info.width, 0, 1, 1}, {0xffffffff, 0, 2, 1},
        {0, 0xffffffff, 1, 2},
    };
    for (const Region& region : outside) {
      REQUIRE_THAT(decoder.Open(file), IsOk());
      PixelSink sink(region);
      CHECK_THAT(decoder.Decode(region, sink),
                 HasCode(absl::StatusCode::kInvalidArgument));
      CHECK(sink.rows() == 0u);
    }
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
