#include <gtest/gtest.h>

#include <cstdint>

#include "server/pipeline/transform/render.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

struct Case {
  std::int32_t left, top, right, bottom, mode;
};

TEST(PadGoldenTest, EqualsTorchvisionOnPillow) {
  const Color fill = {10, 20, 30};
  for (GoldenReader golden("pad.bin"); !golden.done();) {
    const auto c = golden.Next<Case>();
    Scratch scratch(1 << 20);
    const ScratchImage scene = Scene(11, 9, scratch);
    ScratchImageSource source(scene);
    View view{AxisView(11), AxisView(9)};
    const auto mode = static_cast<PadMode>(c.mode);
    ASSERT_TRUE(view.x.Pad(c.left, c.right, mode, 0, scratch).ok());
    ASSERT_TRUE(view.y.Pad(c.top, c.bottom, mode, 0, scratch).ok());
    const auto image = RenderImage(view, {&fill, 1}, source, scratch);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(BytesOf(*image), golden.Bytes(image->bytes()))
        << "mode " << c.mode << ", left " << c.left;
  }
}

}  // namespace
}  // namespace forebay::pipeline::transform
