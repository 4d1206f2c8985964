#include "server/pipeline/decode/avif_decoder.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "server/pipeline/decode/any_image_decoder.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using File = std::vector<std::uint8_t>;

std::vector<std::string> Images() {
  std::ifstream file("tests/golden/decode/avif.txt");
  std::vector<std::string> images;
  for (std::string name; file >> name;) images.push_back("avif/" + name);
  CHECK(images.size() > 30u);
  return images;
}

File Decoded(ImageDecoder& decoder, const File& file, const Region& region) {
  CHECK_THAT(decoder.Open(file), IsOk());
  PixelSink sink(region);
  const absl::Status status = decoder.Decode(region, sink);
  CHECK_THAT(status, IsOk());
  return sink.pixels();
}

TEST_CASE("The AVIF decoder gives Pillow's pixels", "[decode][avif_decoder]") {
  AnyImageDecoder decoder{DecodeLimits{}};
  for (const std::string& name : Images()) {
    CAPTURE(name);
    const File file = GoldenFile(name + ".avif");
    const File reference = GoldenFile(name + ".png");
    const ImageInfo expected = decoder.Open(reference).value();
    const auto info = decoder.Open(file);
    REQUIRE_THAT(info, IsOk());
    REQUIRE(info->width == expected.width);
    REQUIRE(info->height == expected.height);
    const Region all = {0, 0, info->width, info->height};
    CHECK(Decoded(decoder, file, all) == Decoded(decoder, reference, all));
  }
}

TEST_CASE("The AVIF decoder gives regions exactly", "[decode][avif_decoder]") {
  constexpr std::uint32_t kSeed = 20231125;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  AvifDecoder decoder{DecodeLimits{}};
  for (const std::string& name : Images()) {
    const File file = GoldenFile(name + ".avif");
    const ImageInfo info = decoder.Open(file).value();
    const File whole = Decoded(decoder, file, {0, 0, info.width, info.height});
    for (int i = 0; i < 30; ++i) {
      Region region;
      region.left = draw(0, info.width - 1);
      region.top = draw(0, info.height - 1);
      region.width = draw(1, info.width - region.left);
      region.height = draw(1, info.height - region.top);
      const File part = Decoded(decoder, file, region);
      for (std::uint32_t y = 0; y < region.height; ++y) {
        const std::size_t row =
            std::size_t{region.top + y} * info.width + region.left;
        UNSCOPED_INFO(name << " left " << region.left << " top "
                           << region.top + y << " width " << region.width);
        REQUIRE(std::memcmp(&part[std::size_t{3} * y * region.width],
                            &whole[3 * row],
                            std::size_t{3} * region.width) == 0);
      }
    }
  }
}

TEST_CASE("The AVIF decoder finds any truncation", "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{}};
  ExpectTruncationsFound(decoder,
                         {"avif/420.avif", "avif/alpha.avif", "avif/grid.avif",
                          "avif/444_10_bits.avif"},
                         {.first = 0, .step = 5});
  File file = GoldenFile("avif/420.avif");
  file.pop_back();
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a truncated AVIF image");
}

// Returns the position after a box's type.
File::iterator Find(File& file, const std::string& type) {
  const auto found =
      std::search(file.begin(), file.end(), type.begin(), type.end());
  CHECK(found < file.end());
  return found + 4;
}

TEST_CASE("The AVIF decoder finds damage", "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("avif/444.avif");
  const File::iterator data = Find(file, "mdat");
  std::fill(data, data + 20, std::uint8_t{0xff});
  const absl::Status status = DecodeTop(decoder, file);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("is a corrupt AVIF image: "));
}

// Returns `file` with another size in the property for the image's size.
File WithSize(File file, std::uint32_t width, std::uint32_t height) {
  const File::iterator found = Find(file, "ispe");
  for (int i = 0; i < 4; ++i) {
    found[4 + i] = static_cast<std::uint8_t>(width >> (24 - 8 * i));
    found[8 + i] = static_cast<std::uint8_t>(height >> (24 - 8 * i));
  }
  return file;
}

TEST_CASE("The AVIF decoder refuses more pixels than the limit",
          "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{}};
  const File file = GoldenFile("avif/420.avif");
  const absl::Status status =
      decoder.Open(WithSize(file, 16000, 16000)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  for (const std::uint32_t side : {0U, 65536U, 0xffffffffU})
    CHECK_FALSE(decoder.Open(WithSize(file, side, side)).ok());
}

TEST_CASE("The AVIF decoder refuses frames larger than the file says",
          "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{}};
  const absl::Status status =
      DecodeTop(decoder, WithSize(GoldenFile("avif/420.avif"), 20, 10));
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The AVIF decoder refuses pixels beyond the scratch limit",
          "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{.scratch_bytes = 4 << 20}};
  const absl::Status status =
      decoder.Open(GoldenFile("avif/420.avif")).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("is an AVIF image of 37 x 27 pixels that needs "));
}

TEST_CASE("The AVIF decoder counts more scratch for hidden frames",
          "[decode][avif_decoder]") {
  AvifDecoder decoder{DecodeLimits{}};
  const std::uint64_t one =
      decoder.Open(GoldenFile("avif/420.avif"))->scratch_bytes;
  const std::uint64_t with_alpha =
      decoder.Open(GoldenFile("avif/alpha.avif"))->scratch_bytes;
  CHECK(with_alpha > one);
}

}  // namespace
}  // namespace forebay::pipeline::decode
