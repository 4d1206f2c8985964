#include <cstdint>

#include "server/pipeline/transform/render.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

using tests::IsOk;

struct Case {
  std::int32_t left, top, right, bottom, mode;
};

TEST_CASE("A padded image equals torchvision's on Pillow images",
          "[transform][pad_golden]") {
  const Color fill = {10, 20, 30};
  for (GoldenReader golden("pad.bin"); !golden.done();) {
    const auto c = golden.Next<Case>();
    Scratch scratch(1 << 20);
    const ScratchImage scene = Scene(11, 9, scratch);
    ScratchImageSource source(scene);
    View view{AxisView(11), AxisView(9)};
    const auto mode = static_cast<PadMode>(c.mode);
    REQUIRE_THAT(view.x.Pad(c.left, c.right, mode, 0, scratch), IsOk());
    REQUIRE_THAT(view.y.Pad(c.top, c.bottom, mode, 0, scratch), IsOk());
    const auto image = RenderImage(view, {&fill, 1}, source, scratch);
    REQUIRE_THAT(image, IsOk());
    UNSCOPED_INFO("mode " << c.mode << ", left " << c.left);
    CHECK(BytesOf(*image) == golden.Bytes(image->bytes()));
  }
}

}  // namespace
}  // namespace forebay::pipeline::transform
