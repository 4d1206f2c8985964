#include "server/pipeline/decode/raw_decoder.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "proto/raw_image.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

using File = std::vector<std::uint8_t>;

File RawImage(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
              std::size_t pixel_bytes) {
  const proto::RawImageHeader header{proto::kRawImageMagic, width, height,
                                     channels};
  File file(sizeof(header) + pixel_bytes);
  std::memcpy(file.data(), &header, sizeof(header));
  for (std::size_t i = sizeof(header); i < file.size(); ++i) {
    file[i] = static_cast<std::uint8_t>(i * 7);
  }
  return file;
}

// A sink that records the addresses of rows.
class WhereSink : public RowSink {
 public:
  void Rows(std::uint32_t, std::uint32_t count, const std::uint8_t* rgb,
            std::size_t stride_bytes) override {
    for (std::uint32_t i = 0; i < count; ++i) {
      rows_.push_back(rgb + i * stride_bytes);
    }
  }
  const std::vector<const std::uint8_t*>& rows() const { return rows_; }

 private:
  std::vector<const std::uint8_t*> rows_;
};

TEST_CASE(
    "The raw image decoder hands out all rows but the last where they lie",
    "[decode][raw_decoder]") {
  constexpr std::uint32_t kWidth = 100;
  constexpr std::uint32_t kHeight = 30;
  const File file = RawImage(kWidth, kHeight, 3, kWidth * kHeight * 3);
  RawDecoder decoder{DecodeLimits{}};
  REQUIRE_THAT(decoder.Open(file), IsOk());
  const Region region{10, 2, 80, 28};
  WhereSink sink;
  REQUIRE_THAT(decoder.Decode(region, sink), IsOk());
  REQUIRE(sink.rows().size() == 28u);
  const std::uint8_t* first =
      file.data() + sizeof(proto::RawImageHeader) + (2 * kWidth + 10) * 3;
  for (std::size_t y = 0; y < 27; ++y) {
    CAPTURE(y);
    CHECK(sink.rows()[y] == first + y * kWidth * 3);
  }
  // The last row is a copy, because only 30 bytes follow it in the file, and a
  // sink may read more.
  CHECK(sink.rows()[27] != first + 27 * kWidth * 3);
}

TEST_CASE("The raw image decoder never reads behind the end",
          "[decode][raw_decoder]") {
  RawDecoder decoder{DecodeLimits{}};
  for (const std::uint32_t channels : {1, 3}) {
    for (std::uint32_t width = 1; width < 40; ++width) {
      for (std::uint32_t height = 1; height < 20; ++height) {
        const File made = RawImage(width, height, channels,
                                   std::size_t{width} * height * channels);
        // The allocation has exactly the file's size, so that sanitizers find a
        // read past its end.
        const auto exact = std::make_unique<std::uint8_t[]>(made.size());
        std::memcpy(exact.get(), made.data(), made.size());
        REQUIRE_THAT(decoder.Open({exact.get(), made.size()}), IsOk());
        const Region whole{0, 0, width, height};
        PixelSink sink(whole);
        REQUIRE_THAT(decoder.Decode(whole, sink), IsOk());
        REQUIRE(sink.pixels().size() == std::size_t{width} * height * 3);
        CHECK(sink.pixels().back() == made.back());
      }
    }
  }
}

TEST_CASE("The raw image decoder refuses what its header does not describe",
          "[decode][raw_decoder]") {
  RawDecoder decoder{DecodeLimits{}};
  const auto message = [&](const File& file) {
    const absl::Status status = decoder.Open(file).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    return std::string(status.message());
  };
  CHECK(message({}) == "is not a raw image");
  File cut = RawImage(4, 3, 3, 36);
  for (std::size_t size = 0; size < sizeof(proto::RawImageHeader); ++size) {
    CHECK(message(File(cut.begin(),
                       cut.begin() + static_cast<std::ptrdiff_t>(size))) ==
          "is not a raw image");
  }
  CHECK(message(RawImage(4, 3, 3, 35)) == "is a truncated raw image");
  CHECK(message(RawImage(4, 3, 3, 33)) == "is a truncated raw image");
  CHECK(message(RawImage(4, 3, 3, 39)) == "is a corrupt raw image");
  CHECK(message(RawImage(4, 3, 1, 11)) == "is a truncated raw image");
  CHECK(message(RawImage(4, 3, 2, 24)) == "is a corrupt raw image");
  CHECK(message(RawImage(0, 3, 3, 0)) == "is a corrupt raw image");
  CHECK(message(RawImage(4, 0, 3, 0)) == "is a corrupt raw image");
}

TEST_CASE("The raw image decoder's sizes do not overflow",
          "[decode][raw_decoder]") {
  // The limits are so high that they do not refuse the image first.
  RawDecoder decoder{
      DecodeLimits{.max_pixels = UINT64_MAX, .scratch_bytes = UINT64_MAX}};
  const auto message = [&](const File& file) {
    const absl::Status status = decoder.Open(file).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    return std::string(status.message());
  };
  // The image has 2^62 pixels, which are 0 in 32 bits.
  CHECK(message(RawImage(0x80000000, 0x80000000, 1, 0)) ==
        "is a truncated raw image");
  // The image's pixels have 2^64 + 26 bytes, which are 26 in 64 bits.
  static_assert(std::uint64_t{2007567422} * 3062868337 * 3 == 26);
  CHECK(message(RawImage(2007567422, 3062868337, 3, 26)) ==
        "is a truncated raw image");
}

TEST_CASE("The raw image decoder keeps within its limits",
          "[decode][raw_decoder]") {
  RawDecoder few{DecodeLimits{.max_pixels = 11}};
  CHECK(std::string(few.Open(RawImage(4, 3, 3, 36)).status().message()) ==
        "is 4 x 3 pixels, more than the limit of 11 pixels");
  RawDecoder small{DecodeLimits{.scratch_bytes = 100}};
  CHECK(std::string(small.Open(RawImage(4, 3, 3, 36)).status().message()) ==
        "is a raw image of 4 x 3 pixels that needs 160 bytes to decode, more "
        "than the limit of 100 bytes (image.scratch_limit, if memory.limit has "
        "room for it)");
}

}  // namespace
}  // namespace forebay::pipeline::decode
