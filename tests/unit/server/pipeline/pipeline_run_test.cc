#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr char kAugment[] =
    "ops { random_resized_crop { height: 16 width: 16 scale_min: 0.08 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } "
    "ops { color_jitter { brightness { min: 0.6 max: 1.4 } "
    "hue { min: -0.1 max: 0.1 } } } "
    "ops { random_crop { height: 16 width: 16 padding { left: 2 top: 2 "
    "right: 2 bottom: 2 } } } "
    "ops { random_horizontal_flip { p: 0.5 } } ";

std::unique_ptr<Pipeline> Make(const std::string& text) {
  auto pipeline = Pipeline::Create(Spec(text));
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

Bytes Scene() { return transform::ReadGolden("scene.png"); }

Bytes TensorOf(const Pipeline& pipeline, const SampleKey& key,
               Workspace& workspace) {
  Bytes out(pipeline.output().bytes);
  const absl::Status status =
      pipeline.Run(Scene(), key, workspace, absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(PipelineRunTest, DependsOnTheKeyAlone) {
  const auto pipeline = Make(kAugment);
  Workspace one{WorkspaceLimits()}, other{WorkspaceLimits()};
  std::set<Bytes> seen;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const SampleKey key{3, 1, sample};
    seen.insert(TensorOf(*pipeline, key, one));
    TensorOf(*pipeline, {9, 9, sample}, other);
    EXPECT_EQ(TensorOf(*pipeline, key, one), TensorOf(*pipeline, key, other))
        << sample;
  }
  EXPECT_GT(seen.size(), 18u);
  EXPECT_NE(TensorOf(*pipeline, {3, 1, 0}, one),
            TensorOf(*pipeline, {3, 2, 0}, one));
  EXPECT_NE(TensorOf(*pipeline, {3, 1, 0}, one),
            TensorOf(*pipeline, {4, 1, 0}, one));
}

TEST(PipelineRunTest, LateCropsFillWithFloats) {
  const auto pipeline = Make(
      "ops { center_crop { height: 4 width: 4 } } "
      "ops { to_dtype { dtype: FLOAT32 scale: true } } "
      "ops { random_crop { height: 8 width: 8 pad_if_needed: true "
      "padding { fill: 7 } } } "
      "ops { normalize { mean: 1 std: 2 } }");
  Workspace workspace{WorkspaceLimits()};
  const Bytes out = TensorOf(*pipeline, {}, workspace);
  int filled = 0;
  for (std::size_t i = 0; i < out.size(); i += 4) {
    float value;
    std::memcpy(&value, &out[i], 4);
    if (value == 3.0F) {  // (7 - 1) / 2
      ++filled;
    } else {
      EXPECT_LE(value, 0);
    }
  }
  EXPECT_EQ(filled, 3 * (64 - 16));
}

TEST(PipelineRunTest, EnforcesTheLimitOfScratch) {
  const auto pipeline = Make(
      "ops { color_jitter { hue { min: 0.1 max: 0.1 } } "
      "} ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{1'000'000, 32'000}};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(std::string(status.message()).find("bytes"), std::string::npos);
}

TEST(PipelineRunTest, EnforcesTheLimitOfPixels) {
  const auto pipeline = Make("ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{90 * 70 - 1, 1 << 20}};
  Bytes out(pipeline->output().bytes);
  EXPECT_EQ(pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(PipelineRunTest, CorruptBytesHarmNothing) {
  const auto pipeline = Make(kAugment);
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  Bytes scene = Scene();
  const Bytes before = TensorOf(*pipeline, {}, workspace);
  for (std::size_t length = 0; length < scene.size() - 12; length += 37) {
    EXPECT_EQ(
        pipeline
            ->Run({scene.data(), length}, {}, workspace, absl::MakeSpan(out))
            .code(),
        absl::StatusCode::kDataLoss)
        << length;
  }
  EXPECT_EQ(TensorOf(*pipeline, {}, workspace), before);
}

TEST(PipelineRunTest, ACropLargerThanItsImageIsAnError) {
  const auto pipeline = Make("ops { random_crop { height: 80 width: 80 } }");
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "RandomCrop(80, 80) is larger than the 90 x 70 image: set "
            "pad_if_needed");
}

TEST(PipelineRunTest, ACropMayShowNothingButPadding) {
  const auto pipeline = Make(
      "ops { center_crop { height: 4 width: 4 } } "
      "ops { pad { padding { left: 60000 top: 60000 fill: 5 } } } "
      "ops { random_crop { height: 6 width: 6 } }");
  Workspace workspace{WorkspaceLimits()};
  EXPECT_EQ(TensorOf(*pipeline, {}, workspace), Bytes(108, 5));
}

}  // namespace
}  // namespace forebay::pipeline
