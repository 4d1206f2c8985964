#include "server/pipeline/decode/png_decoder.h"

#include <zlib.h>

#include <algorithm>
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

void PutBigEndian(File& file, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    file[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

// Returns `file` with another size in its IHDR chunk, and that chunk's right
// CRC.
File WithSize(File file, std::uint32_t width, std::uint32_t height) {
  PutBigEndian(file, 16, width);
  PutBigEndian(file, 20, height);
  PutBigEndian(file, 29,
               static_cast<std::uint32_t>(crc32(0, file.data() + 12, 17)));
  return file;
}

TEST_CASE(
    "The PNG decoder finds any truncation though only the top is asked for",
    "[decode][png_decoder]") {
  PngDecoder decoder{DecodeLimits{}};
  constexpr std::size_t kEndChunk = 12;
  const std::vector<std::string> names = {"rgb8.png", "rgb16_interlaced.png",
                                          "palette4.png", "filtered.png"};
  ExpectTruncationsFound(decoder, names, {.unneeded = kEndChunk});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    CHECK(DecodeTop(decoder, cut).message() == "is a truncated PNG image");
  }
}

TEST_CASE("The PNG decoder finds damage", "[decode][png_decoder]") {
  PngDecoder decoder{DecodeLimits{}};
  File header = GoldenFile("rgb8.png");
  header[30] ^= 1;
  CHECK_THAT(DecodeTop(decoder, header).message(),
             Contains("is a corrupt PNG image: "));
  File data = GoldenFile("rgb8.png");
  data[60] ^= 0x55;
  const auto info = decoder.Open(data);
  REQUIRE_THAT(info, IsOk());
  const Region region{0, 0, info->width, info->height};
  PixelSink sink(region);
  const absl::Status status = decoder.Decode(region, sink);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("is a corrupt PNG image: "));
}

TEST_CASE("The PNG decoder finds damage of chunks that bear no pixels",
          "[decode][png_decoder]") {
  PngDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("palette8_transparent.png");
  const std::string type = "tRNS";
  const auto chunk =
      std::search(file.begin(), file.end(), type.begin(), type.end());
  REQUIRE(chunk != file.end());
  CHECK_THAT(decoder.Open(file), IsOk());
  chunk[4] ^= 1;
  CHECK(std::string(decoder.Open(file).status().message()) ==
        "is a corrupt PNG image: tRNS: CRC error");
}

TEST_CASE("The PNG decoder refuses more pixels than the limit",
          "[decode][png_decoder]") {
  PngDecoder decoder{DecodeLimits{}};
  const absl::Status status =
      decoder.Open(WithSize(GoldenFile("rgb8.png"), 60000, 60000)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(status.message() ==
        "is 60000 x 60000 pixels, more than the limit of 178956970 "
        "pixels");
}

TEST_CASE("The PNG decoder refuses pixels beyond the scratch limit",
          "[decode][png_decoder]") {
  PngDecoder decoder{DecodeLimits{}};
  const absl::Status status =
      decoder.Open(WithSize(GoldenFile("rgb8_interlaced.png"), 12000, 12000))
          .status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains("12000 x 12000"));
  // An image that is decoded row by row needs memory for only a few rows.
  CHECK_THAT(decoder.Open(WithSize(GoldenFile("rgb8.png"), 12000, 12000)),
             IsOk());
}

}  // namespace
}  // namespace forebay::pipeline::decode
