// Golden images are small. These tests compare crops and sizes of all kinds, on
// every set of vector instructions, with the results of plain code.

#include <hwy/targets.h>

#include <cstdint>
#include <random>
#include <vector>

#include "server/pipeline/transform/render.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

using tests::IsOk;

struct Axis {
  std::int64_t image, first, window, out;
  bool flip;
};

struct Case {
  Axis x, y;
  Filter filter;
};

Axis DrawAxis(std::mt19937& random) {
  const auto draw = [&](int least, int most) {
    return std::int64_t{
        std::uniform_int_distribution<int>(least, most)(random)};
  };
  Axis axis{};
  axis.window = draw(1, draw(1, 4) == 1 ? 30 : 600);
  axis.first = draw(0, 40);
  axis.image = axis.first + axis.window + draw(0, 40);
  axis.out = draw(1, draw(1, 4) == 1 ? 30 : 300);
  axis.flip = draw(0, 1) == 1;
  return axis;
}

absl::Status Apply(const Axis& axis, Filter filter, Scratch& scratch,
                   AxisView& view) {
  absl::Status status = view.Crop(axis.first, axis.window, 0, scratch);
  if (axis.flip) view.Flip();
  view.Resize(axis.out, filter);
  return status;
}

std::vector<std::uint8_t> Made(const Case& c) {
  Scratch scratch(1 << 24);
  const ScratchImage scene = Scene(c.x.image, c.y.image, scratch);
  ScratchImageSource source(scene);
  View view{AxisView(c.x.image), AxisView(c.y.image)};
  CHECK_THAT(Apply(c.x, c.filter, scratch, view.x), IsOk());
  CHECK_THAT(Apply(c.y, c.filter, scratch, view.y), IsOk());
  const auto image = RenderImage(view, {}, source, scratch);
  CHECK_THAT(image, IsOk());
  return BytesOf(*image);
}

void Use(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("All vector targets make the same resized image",
          "[transform][resize_targets]") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto targets = hwy::SupportedAndGeneratedTargets();
  for (int i = 0; i < 150; ++i) {
    const Filter filter = i % 2 == 0 ? Filter::kBilinear : Filter::kBicubic;
    const Case c{DrawAxis(random), DrawAxis(random), filter};
    Use(HWY_SCALAR);
    const std::vector<std::uint8_t> expected = Made(c);
    for (const std::int64_t target : targets) {
      Use(target);
      UNSCOPED_INFO(hwy::TargetName(target)
                    << ": " << c.x.window << " x " << c.y.window << " of "
                    << c.x.image << " x " << c.y.image << " to " << c.x.out
                    << " x " << c.y.out << ", case " << i);
      REQUIRE(Made(c) == expected);
    }
  }
  Use(0);
}

}  // namespace
}  // namespace forebay::pipeline::transform
