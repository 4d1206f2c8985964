#include "server/pipeline/decode/webp_decoder.h"

#include <algorithm>
#include <iterator>
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

TEST_CASE(
    "The WebP decoder finds any truncation though only the top is asked for",
    "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{}};
  const std::vector<std::string> names = {"lossy.webp", "lossless.webp",
                                          "lossy_alpha.webp", "extended.webp",
                                          "animated.webp"};
  ExpectTruncationsFound(decoder, names, {});
  for (const std::string& name : names) {
    const File file = GoldenFile(name);
    File cut = file;
    cut.resize(file.size() / 2);
    CHECK(std::string(DecodeTop(decoder, cut).message()) ==
          "is a truncated WebP image");
  }
}

TEST_CASE("The WebP decoder finds damage", "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossless.webp");
  for (std::size_t i = 40; i < 400; ++i) file[i] = 0xff;
  CHECK_THAT(DecodeTop(decoder, file), HasCode(absl::StatusCode::kDataLoss));
  // The frame gets another size than the canvas.
  file = GoldenFile("extended.webp");
  file[24] += 1;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt WebP image");
  // The frame reaches beyond the canvas.
  file = GoldenFile("animated_offset_0.webp");
  file[24] = 20;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt WebP image");
}

TEST_CASE("The WebP decoder finds damage of transparency",
          "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossy_alpha.webp");
  REQUIRE_THAT(DecodeTop(decoder, file), IsOk());
  const std::size_t alpha = 30 + 8;  // offset in the ALPH chunk
  for (std::size_t i = alpha + 1; i < alpha + 200; ++i) file[i] = 0xff;
  CHECK(std::string(DecodeTop(decoder, file).message()) ==
        "is a corrupt WebP image");
}

TEST_CASE("The WebP decoder accepts what follows the image",
          "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("lossy.webp");
  file.insert(file.end(), 100, 'x');
  CHECK_THAT(DecodeTop(decoder, file), IsOk());
}

TEST_CASE("The WebP decoder refuses more pixels than the limit",
          "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{}};
  File file = GoldenFile("animated.webp");
  const std::uint8_t canvas[] = {0xff, 0x7f, 0, 0xff, 0xff, 0};
  std::copy(std::begin(canvas), std::end(canvas), file.begin() + 24);
  const absl::Status status = decoder.Open(file).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(std::string(status.message()) ==
        "is 32768 x 65536 pixels, more than the limit of 178956970 pixels");
}

TEST_CASE("The WebP decoder refuses pixels beyond the scratch limit",
          "[decode][webp_decoder]") {
  WebpDecoder decoder{DecodeLimits{.scratch_bytes = 200'000}};
  const absl::Status status = decoder.Open(GoldenFile("lossy.webp")).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains("is a WebP image of 203 x 149 pixels that needs "));
  CHECK_THAT(decoder.Open(GoldenFile("lossy_33x16.webp")), IsOk());
  // A file with too many chunks is refused before they are read.
  File file = GoldenFile("extended.webp");
  for (int i = 0; i < 20'000; ++i) {
    file.insert(file.end(), {'A', 'B', 'C', 'D', 0, 0, 0, 0});
  }
  CHECK_THAT(decoder.Open(file), HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::pipeline::decode
