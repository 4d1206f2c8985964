#include "server/pipeline/decode/tiff_decoder.h"

#include <string>
#include <utility>
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

// Returns the offset of a tag's value in a little-endian file that has one
// directory (TIFF 6.0 section 2).
std::size_t ValueOf(const File& file, std::uint16_t tag) {
  const std::size_t directory =
      file[4] + (file[5] << 8) + (std::size_t{file[6]} << 16);
  const int entries = file[directory] + (file[directory + 1] << 8);
  for (int i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + 12 * static_cast<std::size_t>(i);
    if (file[at] + (file[at + 1] << 8) == tag) return at + 8;
  }
  FAIL_CHECK("no tag " << tag);
  return 0;
}

constexpr std::uint16_t kWidth = 256;
constexpr std::uint16_t kHeight = 257;
constexpr std::uint16_t kStripOffset = 273;

TEST_CASE(
    "The TIFF decoder finds any truncation though only the top is asked for",
    "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  // The last bytes may be missing, because they only tell that there is no
  // further directory.
  const std::vector<std::string> names = {
      "rgb_lzw.tif", "rgb_tiles.tif", "rgb_planes.tif", "rgb_jpeg_ycbcr.tif",
      "rgb_bigtiff.tif"};
  ExpectTruncationsFound(decoder, names, {.unneeded = 8});
  // The pixels then begin beyond the file's end.
  File file = GoldenFile("rgba.tif");
  file[ValueOf(file, kStripOffset) + 1] = 0xff;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a truncated TIFF image");
}

TEST_CASE("The TIFF decoder names what it does not read",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  const std::pair<const char*, const char*> cases[] = {
      {"float", "floating-point samples"},
      {"cmyk", "CMYK colors"},
      {"ycbcr", "YCbCr colors that are not JPEG's"},
      {"lab", "Lab colors"},
      {"premultiplied", "colors multiplied by alpha"},
      {"signed", "signed samples"},
      {"gray32", "1 samples a pixel of 32 bits"},
      {"lzma", "pixels compressed by method 34925"},
  };
  for (const auto& [name, what] : cases) {
    const absl::Status status =
        decoder.Open(GoldenFile("unread/" + std::string(name) + ".tif"))
            .status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK(std::string(status.message()) ==
          "is a TIFF image with " + std::string(what) + ", which are not read");
  }
}

TEST_CASE("The TIFF decoder finds damage", "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb_lzw.tif");
  for (std::size_t i = 8; i < 60; ++i) file[i] = 0xff;
  CHECK_THAT(DecodeTop(decoder, file).message(),
             Contains("is a corrupt TIFF image: "));
  file = GoldenFile("rgb16.tif");
  file[ValueOf(file, kWidth)] = 0;
  CHECK_THAT(DecodeTop(decoder, file).message(),
             Contains("is a corrupt TIFF image"));
}

TEST_CASE("The TIFF decoder finds tags that are cut off",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  constexpr std::uint16_t kOrientation = 274;
  const File whole = GoldenFile("rgb_strips.tif");
  REQUIRE_THAT(DecodeTop(decoder, whole), IsOk());
  for (const std::uint16_t tag : {kOrientation, kStripOffset}) {
    File file = whole;
    file[ValueOf(file, tag) - 1] = 0x70;  // the highest byte of the tag's count
    CHECK(std::string(DecodeTop(decoder, file).message()) ==
          "is a truncated TIFF image");
  }
}

TEST_CASE("The TIFF decoder finds tags that are there twice",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb_strips.tif");
  file[ValueOf(file, 274) - 8] = 2;  // the tag's number is then 258
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt TIFF image: it has two tags 258");
}

TEST_CASE("The TIFF decoder finds strips of too few pixels",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb_jpeg_ycbcr.tif");
  REQUIRE_THAT(DecodeTop(decoder, file), IsOk());
  REQUIRE(file[18] == 53);  // the low byte of the first strip's width
  file[18] = 21;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt TIFF image: a JPEG strip or tile has too few pixels");
}

TEST_CASE("The TIFF decoder finds tags that do not fit the pixels",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  constexpr std::uint16_t kRowsPerStrip = 278;
  File file = GoldenFile("rgb_strips.tif");
  file[ValueOf(file, kWidth) - 6] = 1;  // type BYTE
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt TIFF image: its tag 256 has a value of another type "
        "than its kind");
  file = GoldenFile("rgb_strips.tif");
  file[ValueOf(file, kRowsPerStrip)] = 100;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt TIFF image: it lists more strips or tiles than it "
        "has");
}

TEST_CASE("The TIFF decoder refuses more pixels than the limit",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb16.tif");
  for (const std::uint16_t tag : {kWidth, kHeight}) {
    file[ValueOf(file, tag)] = 0x60;
    file[ValueOf(file, tag) + 1] = 0xea;
  }
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(std::string(status.message()) ==
        "is 60000 x 60000 pixels, more than the limit of 178956970 pixels");
}

TEST_CASE("The TIFF decoder refuses pixels beyond the scratch limit",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{.scratch_bytes = 600'000}};
  CHECK_THAT(decoder.Open(GoldenFile("rgb_planes_tiles.tif")), IsOk());
  // The tiles become about 1024 times as high.
  File file = GoldenFile("rgb_planes_tiles.tif");
  constexpr std::uint16_t kTileLength = 323;
  file[ValueOf(file, kTileLength) + 1] = 0x80;
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("is a TIFF image of 53 x 37 pixels that needs "));
}

TEST_CASE("The TIFF decoder bounds what overlapping tags make it read",
          "[decode][tiff_decoder]") {
  TiffDecoder decoder{DecodeLimits{}};
  // The file has 900 unknown tags, each with the same 1 MB as its value.
  File file = {'I', 'I', 42, 0, 8, 0, 0, 0, 900 & 0xff, 900 >> 8};
  for (int tag = 40000; tag < 40900; ++tag) {
    file.insert(file.end(), {static_cast<std::uint8_t>(tag & 0xff),
                             static_cast<std::uint8_t>(tag >> 8), 1, 0, 0, 0,
                             16, 0, 16, 0, 0, 0});
  }
  file.resize(file.size() + (1 << 20) + 100);
  CHECK_THAT(decoder.Open(file), HasCode(absl::StatusCode::kDataLoss));
  file[8] = 0xff;  // more entries than are read
  file[9] = 0xff;
  CHECK(std::string(decoder.Open(file).status().message()) ==
        "is a TIFF image with more than 1000 tags");
}

}  // namespace
}  // namespace forebay::pipeline::decode
