#include "tests/unit/server/pipeline/transform/golden.h"

#include <fstream>
#include <iterator>

#include "tests/catch/catch.h"

namespace forebay::pipeline::transform {

std::vector<std::uint8_t> ReadGolden(std::string_view name) {
  std::ifstream file("tests/golden/transform/" + std::string(name),
                     std::ios::binary);
  CAPTURE(name);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

ScratchImage Scene(std::int64_t width, std::int64_t height, Scratch& scratch) {
  ScratchImage image{nullptr, width, height};
  image.rgb = *scratch.Allocate<std::uint8_t>(image.bytes(), "a scene");
  std::uint8_t* to = image.rgb;
  for (std::uint64_t y = 0; y < static_cast<std::uint64_t>(height); ++y) {
    for (std::uint64_t x = 0; x < static_cast<std::uint64_t>(width); ++x) {
      for (std::uint64_t c = 0; c < 3; ++c) {
        const std::uint64_t hash =
            (x * 73856093) ^ (y * 19349663) ^ (c * 83492791);
        const auto noise = static_cast<std::uint32_t>(hash * 2654435761) >> 24;
        const std::uint64_t slope = x * 3 + y * 5 + c * 40;
        const bool left = x < static_cast<std::uint64_t>(width) / 2;
        *to++ = static_cast<std::uint8_t>(left ? noise : slope);
      }
    }
  }
  return image;
}

std::vector<std::uint8_t> BytesOf(const ScratchImage& image) {
  return {image.rgb, image.rgb + image.bytes()};
}

}  // namespace forebay::pipeline::transform
