#include "server/pipeline/decode/bmp_decoder.h"

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

TEST_CASE(
    "The BMP decoder finds any truncation though only the top is asked for",
    "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"rgb24.bmp", "rgb24_top_down.bmp",
                                          "palette4.bmp"};
  ExpectTruncationsFound(decoder, names, {.step = 1});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    CHECK(std::string(DecodeTop(decoder, cut).message()) ==
          "is a truncated BMP image");
  }
}

TEST_CASE("The BMP decoder names what it does not read",
          "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{}};
  const std::pair<const char*, const char*> cases[] = {
      {"unread/bits16.bmp",
       "is a BMP image of 16 bits a pixel, which is not read"},
      {"unread/runs.bmp", "is a BMP image of packed runs, which is not read"},
      {"unread/lacks_colors.bmp", "is a BMP image that lacks some colors"},
  };
  for (const auto& [name, message] : cases) {
    const absl::Status status = DecodeTop(decoder, GoldenFile(name));
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK(std::string(status.message()) == message);
  }
  File file = GoldenFile("rgb24.bmp");
  file[14] = 12;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a BMP image with OS/2's header, which is not read");
}

TEST_CASE("The BMP decoder finds damage", "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{}};
  // The changed bytes are in the width, in the planes, and in the offset of the
  // pixels.
  for (const std::size_t at : {21u, 26u, 10u}) {
    File file = GoldenFile("rgb24.bmp");
    file[at] = 0x80;
    CHECK_THAT(DecodeTop(decoder, file), HasCode(absl::StatusCode::kDataLoss));
  }
  File file = GoldenFile("palette8.bmp");
  file[11] = 0;  // the pixels then begin at byte 20, where the palette is
  file[10] = 20;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt BMP image");
}

TEST_CASE("The BMP decoder refuses what Pillow refuses",
          "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb24.bmp");
  file[30] = 4;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a BMP image of an unknown compression, which is not read");
  file = GoldenFile("rgbx32_masks.bmp");
  REQUIRE_THAT(DecodeTop(decoder, file), IsOk());
  file[55] = 0x7f;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a BMP image with such masks of its colors, which is not read");
  file = GoldenFile("palette8.bmp");
  file[48] = 1;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt BMP image");
}

TEST_CASE("The BMP decoder says that it reads no gap before the pixels",
          "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("rgb24.bmp");
  file.insert(file.begin() + 54, 6, 0);
  file[10] += 6;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a BMP image with something between its header and its pixels, "
        "which is not read");
}

TEST_CASE("The BMP decoder keeps within its limits", "[decode][bmp_decoder]") {
  BmpDecoder decoder{DecodeLimits{.scratch_bytes = 5000}};
  absl::Status status = decoder.Open(GoldenFile("rgb24.bmp")).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("is a BMP image of 53 x 37 pixels that needs "));
  File file = GoldenFile("rgb24.bmp");
  file[20] = file[24] = 1;
  status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(std::string(status.message()) ==
        "is 65589 x 65573 pixels, more than the limit of 178956970 pixels");
}

}  // namespace
}  // namespace forebay::pipeline::decode
