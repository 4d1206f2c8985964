#include "server/pipeline/decode/jpeg_decoder.h"

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

std::size_t FindMarker(const File& file, std::uint8_t code) {
  const std::uint8_t marker[] = {0xff, code};
  const auto found = std::search(file.begin(), file.end(), marker, marker + 2);
  CHECK(found != file.end());
  return static_cast<std::size_t>(found - file.begin());
}

// Returns `file` with another size in its frame header, whose marker is `code`.
File WithSize(File file, std::uint8_t code, unsigned width, unsigned height) {
  const std::size_t at = FindMarker(file, code);
  file[at + 5] = static_cast<std::uint8_t>(height >> 8);
  file[at + 6] = static_cast<std::uint8_t>(height);
  file[at + 7] = static_cast<std::uint8_t>(width >> 8);
  file[at + 8] = static_cast<std::uint8_t>(width);
  return file;
}

TEST_CASE(
    "The JPEG decoder finds any truncation though only the top is asked for",
    "[decode][jpeg_decoder]") {
  JpegDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"420.jpg", "422_restart_blocks.jpg",
                                          "gray.jpg", "444_progressive.jpg",
                                          "420_three_scans.jpg"};
  ExpectTruncationsFound(decoder, names, {.first = 3, .step = 7});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.pop_back();
    CHECK(DecodeTop(decoder, cut).message() == "is a truncated JPEG image");
  }
}

TEST_CASE("The JPEG decoder is not fooled by a thumbnail's end",
          "[decode][jpeg_decoder]") {
  const std::uint8_t thumbnail[] = {0xff, 0xe1, 0, 6, 1, 2, 0xff, 0xd9};
  File file = GoldenFile("420.jpg");
  file.insert(file.begin() + 2, std::begin(thumbnail), std::end(thumbnail));
  JpegDecoder decoder{DecodeLimits{}};
  CHECK_THAT(DecodeTop(decoder, file), IsOk());
  file.resize(file.size() - 2);
  CHECK_THAT(DecodeTop(decoder, file), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The JPEG decoder accepts what follows the end",
          "[decode][jpeg_decoder]") {
  File file = GoldenFile("420.jpg");
  file.insert(file.end(), 1000, 0xff);
  JpegDecoder decoder{DecodeLimits{}};
  CHECK_THAT(DecodeTop(decoder, file), IsOk());
}

TEST_CASE("The JPEG decoder refuses a crop above a segment that cannot be read",
          "[decode][jpeg_decoder]") {
  JpegDecoder decoder{DecodeLimits{}};
  for (const char* name : {"420.jpg", "422_restart_blocks.jpg", "gray.jpg"}) {
    File file = GoldenFile(name);
    file.insert(file.end() - 200, {0xff, 0xc4, 0, 4, 0xff, 0xff});
    CAPTURE(name);
    CHECK_THAT(DecodeTop(decoder, file).message(),
               Contains("is a corrupt JPEG image: Bogus"));
  }
}

TEST_CASE("The JPEG decoder needs no end marker behind the last pixel",
          "[decode][jpeg_decoder]") {
  JpegDecoder decoder{DecodeLimits{}};
  for (const char* name : {"420.jpg", "422_restart_blocks.jpg", "gray.jpg"}) {
    File file = GoldenFile(name);
    file.resize(file.size() - 2);
    CHECK_THAT(DecodeTop(decoder, file), HasCode(absl::StatusCode::kDataLoss));
    file.insert(file.end(), 20, 0);
    CAPTURE(name);
    CHECK_THAT(DecodeTop(decoder, file), IsOk());
  }
}

TEST_CASE("The JPEG decoder takes an early end and leaves the rest gray",
          "[decode][jpeg_decoder]") {
  File file = GoldenFile("420.jpg");
  file.resize(file.size() / 2);
  file.insert(file.end(), {0xff, 0xd9});
  JpegDecoder decoder{DecodeLimits{}};
  CHECK_THAT(DecodeTop(decoder, file), IsOk());
}

TEST_CASE("The JPEG decoder refuses more pixels than the limit",
          "[decode][jpeg_decoder]") {
  const File file = WithSize(GoldenFile("420.jpg"), 0xc0, 60000, 60000);
  JpegDecoder decoder{DecodeLimits{}};
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(status.message() ==
        "is 60000 x 60000 pixels, more than the limit of 178956970 "
        "pixels");
}

TEST_CASE("The JPEG decoder refuses coefficients beyond the scratch limit",
          "[decode][jpeg_decoder]") {
  // 10,000 x 10,000 pixels in three 4:2:0 components have 300 MB of
  // coefficients.
  const File file =
      WithSize(GoldenFile("420_progressive.jpg"), 0xc2, 10000, 10000);
  JpegDecoder decoder{DecodeLimits{}};
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains("10000 x 10000"));
  CHECK_THAT(status.message(), Contains("268435456 bytes"));
  // The same size in one scan needs memory for only a few rows.
  CHECK_THAT(decoder.Open(WithSize(GoldenFile("420.jpg"), 0xc0, 10000, 10000)),
             IsOk());
}

TEST_CASE("The JPEG decoder refuses an image of endless scans",
          "[decode][jpeg_decoder]") {
  const File file = GoldenFile("420_three_scans.jpg");
  const auto second = static_cast<std::ptrdiff_t>(
      FindMarker(
          File(file.begin() +
                   static_cast<std::ptrdiff_t>(FindMarker(file, 0xda)) + 2,
               file.end()),
          0xda) +
      FindMarker(file, 0xda) + 2);
  File bomb(file.begin(), file.end() - 2);
  for (int i = 0; i < 200; ++i) {
    bomb.insert(bomb.end(), file.begin() + second, file.end() - 2);
  }
  bomb.insert(bomb.end(), {0xff, 0xd9});
  JpegDecoder decoder{DecodeLimits{}};
  const absl::Status status = DecodeTop(decoder, bomb);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("scans"));
}

TEST_CASE("The JPEG decoder names what is corrupt", "[decode][jpeg_decoder]") {
  File file = GoldenFile("420.jpg");
  file[FindMarker(file, 0xc0) + 4] = 12;  // bits a sample
  JpegDecoder decoder{DecodeLimits{}};
  const absl::Status status = DecodeTop(decoder, file);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(),
             Contains("is a corrupt JPEG image: Unsupported"));
  CHECK_THAT(decoder.Open(GoldenFile("rgb8.png")),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::pipeline::decode
