#include <cstdint>
#include <string>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using tests::IsOk;

using transform::ReadGolden;

std::string WithImageNet(const std::string& before, const std::string& after) {
  return before + kImageNet + after;
}

// Returns the specs in the order of make_golden.py's write_pipelines.
std::vector<std::string> Specs() {
  return {
      // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one string
      "ops { resize { height: 32 } } "
      "ops { center_crop { height: 24 width: 24 } }",
      WithImageNet("ops { resize { height: 30 width: 20 interpolation: BICUBIC "
                   "} } ops { random_horizontal_flip { p: 1 } } ",
                   "ops { to_image { layout: NHWC } }"),
      "ops { random_horizontal_flip { p: 1 } } "
      "ops { random_vertical_flip { p: 1 } } "
      "ops { resize { height: 33 width: 47 } }",
      "ops { pad { padding { left: 5 top: 6 right: 7 bottom: 8 "
      "mode: REFLECT } } } ops { center_crop { height: 100 width: 110 } }",
      "ops { resize { height: 20 width: 31 interpolation: NEAREST } } "
      "ops { grayscale { num_output_channels: 1 } }",
      "ops { resize { height: 50 width: 50 } } "
      "ops { resize { height: 31 width: 44 interpolation: BICUBIC } }",
      "ops { pad { padding { left: 3 top: 3 right: 3 bottom: 3 "
      "fill: [9, 8, 7] } } } ops { resize { height: 40 width: 40 } }",
      WithImageNet("ops { resize { height: 32 } } "
                   "ops { center_crop { height: 24 width: 24 } } ",
                   "ops { center_crop { height: 30 width: 28 } }"),
  };
}

TEST_CASE("A pipeline's result equals that of Pillow and torchvision",
          "[pipeline][pipeline_golden]") {
  const std::vector<std::uint8_t> scene = ReadGolden("scene.png");
  Workspace workspace{WorkspaceLimits()};
  int number = 0;
  for (const std::string& text : Specs()) {
    CAPTURE(text);
    const auto pipeline = Pipeline::Create(Spec(text));
    REQUIRE_THAT(pipeline, IsOk());
    const auto expected =
        ReadGolden("pipeline_" + std::to_string(number++) + ".raw");
    REQUIRE((*pipeline)->output().bytes == expected.size());
    std::vector<std::uint8_t> out(expected.size());
    const absl::Status status =
        (*pipeline)->Run(scene, {}, workspace, absl::MakeSpan(out));
    REQUIRE_THAT(status, IsOk());
    CHECK(out == expected);
  }
}

}  // namespace
}  // namespace forebay::pipeline
