#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "server/pipeline/transform/render.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

using tests::IsOk;

struct Case {
  std::int32_t in_width, in_height, out_width, out_height, filter;
};

std::vector<std::uint8_t> Resized(const Case& c) {
  Scratch scratch(1 << 22);
  const ScratchImage scene = Scene(c.in_width, c.in_height, scratch);
  ScratchImageSource source(scene);
  View view{AxisView(c.in_width), AxisView(c.in_height)};
  view.x.Resize(c.out_width, static_cast<Filter>(c.filter));
  view.y.Resize(c.out_height, static_cast<Filter>(c.filter));
  const auto image = RenderImage(view, {}, source, scratch);
  CHECK_THAT(image, IsOk());
  return BytesOf(*image);
}

// The test runs on every set of vector instructions that this CPU has, and
// without any.
TEST_CASE("A resized image equals Pillow's to the bit on every CPU",
          "[transform][resize_golden]") {
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  targets.push_back(HWY_SCALAR);
  int cases = 0;
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (GoldenReader golden("resize.bin"); !golden.done(); ++cases) {
      const auto c = golden.Next<Case>();
      const auto expected =
          golden.Bytes(static_cast<std::size_t>(c.out_width) *
                       static_cast<std::size_t>(c.out_height) * 3);
      UNSCOPED_INFO(hwy::TargetName(target)
                    << ": " << c.in_width << " x " << c.in_height << " to "
                    << c.out_width << " x " << c.out_height << ", filter "
                    << c.filter);
      CHECK(Resized(c) == expected);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(cases >= 45);
}

// Torch computes with floating-point weights, and rounds once.
TEST_CASE("An aliased resize is within one level of torch's",
          "[transform][resize_golden]") {
  int cases = 0;
  for (GoldenReader golden("resize_aliased.bin"); !golden.done(); ++cases) {
    const auto c = golden.Next<Case>();
    REQUIRE(static_cast<Filter>(c.filter) == Filter::kBilinearAliased);
    const std::vector<std::uint8_t> got = Resized(c);
    const auto expected =
        golden.Bytes(static_cast<std::size_t>(c.out_width) *
                     static_cast<std::size_t>(c.out_height) * 3);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      UNSCOPED_INFO(c.in_width << " x " << c.in_height << " to " << c.out_width
                               << " x " << c.out_height << ", byte " << i);
      REQUIRE(std::abs(int{got[i]} - int{expected[i]}) <= 1);
    }
  }
  CHECK(cases == 11);
}

}  // namespace
}  // namespace forebay::pipeline::transform
