#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "server/pipeline/transform/color.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

TEST(ColorGoldenTest, EqualsTorchvisionOnPillow) {
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
    EXPECT_EQ(BytesOf(image), golden.Bytes(image.bytes()))
        << "adjustment " << adjustment << " by " << factor;
  }
}

TEST(JitterTest, DrawsOrderAndFactorsWithinTheirRanges) {
  ColorJitter op;
  op.brightness = {true, 0.6, 1.4};
  op.hue = {true, -0.1, 0.1};
  std::vector<int> first(4);
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    PhiloxDraws draws(7, 0, sample, 0);
    const JitterDraw draw = DrawJitter(op, draws);
    ++first[draw.order[0]];
    EXPECT_TRUE(draw.set[JitterDraw::kBrightness]);
    EXPECT_FALSE(draw.set[JitterDraw::kContrast]);
    EXPECT_GE(draw.factor[JitterDraw::kBrightness], 0.6F);
    EXPECT_LE(draw.factor[JitterDraw::kBrightness], 1.4F);
    EXPECT_LE(std::abs(draw.factor[JitterDraw::kHue]), 0.1F);
  }
  for (const int count : first) EXPECT_NEAR(count, 100, 50);
}

}  // namespace
}  // namespace forebay::pipeline::transform
