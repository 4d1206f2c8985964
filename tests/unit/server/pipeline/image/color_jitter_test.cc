#include <array>
#include <cstdint>

#include "server/pipeline/transform/scratch.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/image/recording_target.h"

namespace forebay::pipeline::image {
namespace {

using Catch::WithinAbs;
using tests::IsOk;
using Pixel = std::array<std::uint8_t, 3>;

// A target of one pixel.
class PixelTarget final : public OpTarget {
 public:
  explicit PixelTarget(const Pixel& color) : pixel(color) {}

  transform::ImageExtent extent() const override { return {1, 1}; }
  absl::Status Crop(const transform::CropWindow&) override { return {}; }
  absl::Status Pad(const transform::Padding&) override { return {}; }
  absl::Status Resize(transform::ImageExtent, transform::Filter) override {
    return {};
  }
  void Flip(bool) override {}
  absl::Status ChangePixels(
      absl::FunctionRef<void(const transform::ScratchImage&)> change) override {
    change({pixel.data(), 1, 1});
    return {};
  }

  Pixel pixel;
};

// Returns what a jitter makes of a pixel in one sample.
Pixel Jittered(const ImageOp& op, std::uint64_t sample, const Pixel& pixel) {
  transform::PhiloxDraws draws({7, 0, sample}, 0);
  const auto drawn = op.Draw({1, 1}, draws);
  REQUIRE_THAT(drawn, IsOk());
  PixelTarget target(pixel);
  REQUIRE_THAT(op.Apply(*drawn, target), IsOk());
  return target.pixel;
}

TEST_CASE("ColorJitter draws factors over their whole ranges",
          "[image][color_jitter]") {
  proto::ColorJitter message;
  message.mutable_brightness()->set_min(0.6);
  message.mutable_brightness()->set_max(1.4);
  message.mutable_hue()->set_min(-0.1);
  message.mutable_hue()->set_max(0.1);
  const auto op = OpOf(message);
  int dark = 0;
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    // A gray pixel has no hue to turn.
    const Pixel pixel = Jittered(*op, sample, {100, 100, 100});
    CHECK(pixel[0] == pixel[2]);
    CHECK(pixel[0] >= 60);
    CHECK(pixel[0] <= 140);
    dark += pixel[0] < 80 ? 1 : 0;
  }
  CHECK_THAT(dark, WithinAbs(100, 50));
}

TEST_CASE("ColorJitter makes its changes in an order that it draws",
          "[image][color_jitter]") {
  proto::ColorJitter message;
  message.mutable_brightness()->set_min(2);
  message.mutable_brightness()->set_max(2);
  message.mutable_saturation();  // gray
  const auto op = OpOf(message);
  // The luma of (200, 100, 0) is 118, and that of (255, 200, 0) is 194.
  int brighter_first = 0;
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    const Pixel pixel = Jittered(*op, sample, {200, 100, 0});
    const bool first = pixel == Pixel{194, 194, 194};
    if (!first) CHECK(pixel == Pixel{236, 236, 236});
    brighter_first += first ? 1 : 0;
  }
  CHECK_THAT(brighter_first, WithinAbs(200, 60));
}

}  // namespace
}  // namespace forebay::pipeline::image
