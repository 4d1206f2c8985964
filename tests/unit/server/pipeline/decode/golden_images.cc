#include "tests/unit/server/pipeline/decode/golden_images.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline::decode {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr char kFolder[] = "tests/golden/decode/";

}  // namespace

std::vector<GoldenImage> GoldenImages() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenImage> images;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    GoldenImage image;
    words >> image.name >> image.width >> image.height >> std::hex >> image.crc;
    CAPTURE(line);
    CHECK(words);
    for (std::string word; words >> word;) {
      GoldenPixel pixel;
      unsigned r, g, b;
      CHECK(5 == std::sscanf(word.c_str(), "%u,%u=%u,%u,%u", &pixel.x, &pixel.y,
                             &r, &g, &b));
      pixel.rgb[0] = static_cast<std::uint8_t>(r);
      pixel.rgb[1] = static_cast<std::uint8_t>(g);
      pixel.rgb[2] = static_cast<std::uint8_t>(b);
      image.pixels.push_back(pixel);
    }
    images.push_back(image);
  }
  CHECK(images.size() > 60u);
  return images;
}

std::vector<std::string> RefusedImages() {
  std::ifstream file(std::string(kFolder) + "refused.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) names.push_back(line);
  CHECK_FALSE(names.empty());
  return names;
}

std::vector<std::uint8_t> GoldenFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(file), {});
}

absl::Status DecodeTop(ImageDecoder& decoder,
                       const std::vector<std::uint8_t>& file) {
  const auto info = decoder.Open(file);
  if (!info.ok()) return info.status();
  const Region region{0, 0, info->width, 1};
  PixelSink sink(region);
  return decoder.Decode(region, sink);
}

void ExpectTruncationsFound(ImageDecoder& decoder,
                            const std::vector<std::string>& names,
                            const Cuts& cuts) {
  for (const std::string& name : names) {
    const std::vector<std::uint8_t> file = GoldenFile(name);
    CAPTURE(name);
    REQUIRE_THAT(DecodeTop(decoder, file), IsOk());
    for (std::size_t size = cuts.first; size + cuts.unneeded < file.size();
         size += cuts.step) {
      const std::vector<std::uint8_t> cut(
          file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      UNSCOPED_INFO(name << " cut to " << size << " bytes");
      REQUIRE_THAT(DecodeTop(decoder, cut),
                   HasCode(absl::StatusCode::kDataLoss));
    }
  }
}

void PixelSink::Rows(std::uint32_t first_row, std::uint32_t count,
                     const std::uint8_t* rgb, std::size_t stride_bytes) {
  CHECK(first_row == rows_);
  CHECK(count > 0u);
  const std::size_t row_bytes = std::size_t{3} * region_.width;
  const std::uint8_t* row = rgb;
  for (std::uint32_t i = 0; i < count; ++i, row += stride_bytes) {
    pixels_.insert(pixels_.end(), row, row + row_bytes);
  }
  const std::uint8_t* end = row - stride_bytes + row_bytes;
  for (std::size_t i = 0; i < kStripPadding; ++i) padding_sum_ += end[i];
  rows_ += count;
}

}  // namespace forebay::pipeline::decode
