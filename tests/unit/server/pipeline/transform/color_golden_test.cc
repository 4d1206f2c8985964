#include <cmath>
#include <cstdint>
#include <vector>

#include "server/pipeline/transform/color.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

using Catch::WithinAbs;

TEST_CASE("A color adjustment equals torchvision's on Pillow images",
          "[transform][color_golden]") {
  for (GoldenReader golden("color.bin"); !golden.done();) {
    const auto adjustment = golden.Next<std::int32_t>();
    const auto factor = golden.Next<double>();
    Scratch scratch(1 << 20);
    const ScratchImage image = Scene(48, 36, scratch);
    const Pixels pixels(image.rgb, image.bytes());
    const auto number = static_cast<float>(factor);
    switch (adjustment) {
      case 0:
        AdjustBrightness(pixels, number);
        break;
      case 1:
        AdjustContrast(pixels, number);
        break;
      case 2:
        AdjustSaturation(pixels, number);
        break;
      case 3:
        AdjustHue(pixels, factor);
        break;
      default:
        MakeGray(pixels);
    }
    UNSCOPED_INFO("adjustment " << adjustment << " by " << factor);
    CHECK(BytesOf(image) == golden.Bytes(image.bytes()));
  }
}

TEST_CASE("ColorJitter draws its order and its factors within their ranges",
          "[transform][color_golden]") {
  ColorJitter op;
  op.brightness = {true, 0.6, 1.4};
  op.hue = {true, -0.1, 0.1};
  std::vector<int> first(4);
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    PhiloxDraws draws(7, 0, sample, 0);
    const JitterDraw draw = DrawJitter(op, draws);
    ++first[draw.order[0]];
    CHECK(draw.set[JitterDraw::kBrightness]);
    CHECK_FALSE(draw.set[JitterDraw::kContrast]);
    CHECK(draw.factor[JitterDraw::kBrightness] >= 0.6F);
    CHECK(draw.factor[JitterDraw::kBrightness] <= 1.4F);
    CHECK(std::abs(draw.factor[JitterDraw::kHue]) <= 0.1F);
  }
  for (const int count : first) CHECK_THAT(count, WithinAbs(100, 50));
}

}  // namespace
}  // namespace forebay::pipeline::transform
