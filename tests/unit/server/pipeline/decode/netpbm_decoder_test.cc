#include "server/pipeline/decode/netpbm_decoder.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

using File = std::vector<std::uint8_t>;

File FileOf(const std::string& header, std::size_t bytes) {
  File file(header.begin(), header.end());
  file.resize(file.size() + bytes);
  return file;
}

std::string RefusalOf(const File& file) {
  NetpbmDecoder decoder{DecodeLimits{}};
  const absl::Status status = DecodeTop(decoder, file);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  return std::string(status.message());
}

TEST_CASE(
    "The Netpbm decoder finds any truncation though only the top is asked for",
    "[decode][netpbm_decoder]") {
  NetpbmDecoder decoder{DecodeLimits{}};
  ExpectTruncationsFound(decoder,
                         {"rgb8.ppm", "gray8.pgm", "bilevel.pbm", "rgb16.ppm"},
                         {.step = 1});
  CHECK(RefusalOf(FileOf("P6\n2 2\n255\n", 11)) == "is a truncated PPM image");
  CHECK(RefusalOf(FileOf("P5\n2 2\n65535\n", 7)) == "is a truncated PGM image");
  CHECK(RefusalOf(FileOf("P4\n9 2\n", 3)) == "is a truncated PBM image");
  CHECK(RefusalOf(FileOf("P6\n2 2\n25", 0)) == "is a truncated PPM image");
}

TEST_CASE("The Netpbm decoder names what it does not read",
          "[decode][netpbm_decoder]") {
  CHECK(RefusalOf(GoldenFile("unread/text.ppm")) ==
        "is a PPM image in its text form, which is not read");
  CHECK(RefusalOf(FileOf("P1\n1 1\n1\n", 0)) ==
        "is a PBM image in its text form, which is not read");
  CHECK(RefusalOf(FileOf("P7\nWIDTH 1\n", 0)) == "is not a PPM image");
  CHECK(RefusalOf(FileOf("P66 1 1 255\n", 3)) == "is not a PPM image");
}

TEST_CASE("The Netpbm decoder refuses damaged headers",
          "[decode][netpbm_decoder]") {
  for (const char* header :
       {"P6\n-1 1\n255\n", "P6\n1 x\n255\n", "P6\n1 1\n2.5\n",
        "P6\n00000000001 1\n255\n", "P6\n1 1\n\xff\n"}) {
    CAPTURE(header);
    CHECK(RefusalOf(FileOf(header, 99)) ==
          "is a PPM image whose header lacks a number");
  }
  CHECK(RefusalOf(FileOf("P5 0 1 255\n", 99)) ==
        "is a PGM image without pixels");
  CHECK(RefusalOf(FileOf("P4 1 0\n", 99)) == "is a PBM image without pixels");
  CHECK(RefusalOf(FileOf("P5 1 1 0\n", 99)) ==
        "is a PGM image whose largest value is 0, not 1 to 65535");
  CHECK(RefusalOf(FileOf("P6 1 1 65536\n", 99)) ==
        "is a PPM image whose largest value is 65536, not 1 to 65535");
}

TEST_CASE("The Netpbm decoder keeps the limits of pixels and scratch",
          "[decode][netpbm_decoder]") {
  NetpbmDecoder decoder{DecodeLimits{.max_pixels = 6}};
  CHECK_THAT(DecodeTop(decoder, FileOf("P6 3 2 255\n", 18)), IsOk());
  absl::Status status = DecodeTop(decoder, FileOf("P6 9999999999 1 255\n", 9));
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  status = DecodeTop(decoder, FileOf("P6 7 1 255\n", 21));
  CHECK(std::string(status.message()) ==
        "is 7 x 1 pixels, more than the limit of 6 pixels");
  NetpbmDecoder narrow{DecodeLimits{.scratch_bytes = 500}};
  CHECK_THAT(DecodeTop(narrow, FileOf("P5 18 1 255\n", 18)), IsOk());
  CHECK_THAT(DecodeTop(narrow, FileOf("P5 19 1 255\n", 19)),
             HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::pipeline::decode
