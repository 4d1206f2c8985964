#include <cstdint>
#include <vector>

#include "server/pipeline/transform/color.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

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

}  // namespace
}  // namespace forebay::pipeline::transform
