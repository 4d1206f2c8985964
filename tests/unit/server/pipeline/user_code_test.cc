#include "server/pipeline/user_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/random_ops.h"
#include "server/pipeline/tail.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr char kCrop[] =
    "ops { random_resized_crop { height: 8 width: 6 scale_min: 0.08 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } ";
constexpr char kFloats[] =
    "ops { to_dtype { dtype: FLOAT32 scale: true } } "
    "ops { normalize { mean: 0.5 std: 0.25 } } ";

std::string Code(const std::string& result) {
  return absl::StrCat("ops { user_code { identity: '0123456789abcdef' ", result,
                      " } } ");
}

std::string Image(int height, int width, int channels) {
  return Code(absl::StrCat("dtype: UINT8 shape: ", height, " shape: ", width,
                           " shape: ", channels));
}

std::string Refusal(const std::string& text) {
  const auto pipeline = Pipeline::Create(Spec(text));
  if (pipeline.ok()) return "accepted";
  EXPECT_EQ(pipeline.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(pipeline.status().message());
}

std::unique_ptr<Pipeline> Make(const std::string& text,
                               Part part = Part::kWhole) {
  auto pipeline = Pipeline::Create(Spec(text), part);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

// Runs a pipeline whose code changes nothing.
Bytes TensorOf(const Pipeline& pipeline, const SampleKey& key) {
  Workspace workspace{WorkspaceLimits()};
  const Bytes scene = transform::ReadGolden("scene.png");
  Bytes out(pipeline.output().bytes);
  const UserCode* const code = pipeline.user_code();
  if (code == nullptr) {
    EXPECT_TRUE(pipeline.Run(scene, key, workspace, absl::MakeSpan(out)).ok());
    return out;
  }
  Bytes desk(code->desk_bytes());
  EXPECT_TRUE(
      pipeline.Run(scene, key, workspace, code->Input(absl::MakeSpan(desk)))
          .ok());
  EXPECT_TRUE(
      code->RunAfter(absl::MakeSpan(desk), key, workspace, absl::MakeSpan(out))
          .ok());
  return out;
}

TEST(UserCodeTest, CodeThatChangesNothingLeavesTheBytes) {
  const auto coded = Make(std::string(kCrop) + Image(8, 6, 3) + kFloats);
  const auto plain = Make(std::string(kCrop) + kFloats);
  EXPECT_EQ(coded->output().shape, plain->output().shape);
  EXPECT_EQ(coded->variant(), plain->variant());
  for (std::uint64_t sample = 0; sample < 5; ++sample)
    EXPECT_EQ(TensorOf(*coded, {3, 1, sample}),
              TensorOf(*plain, {3, 1, sample}));
}

TEST(UserCodeTest, OpsBehindDrawByTheirPlaceInTheWhole) {
  const std::string flip = "ops { random_horizontal_flip { p: 0.5 } } ";
  const auto coded = Make(std::string(kCrop) + Image(8, 6, 3) + flip);
  // An op that does nothing, in the code's place.
  const auto plain = Make(std::string(kCrop) + "ops { to_image {} } " + flip);
  for (std::uint64_t sample = 0; sample < 20; ++sample)
    EXPECT_EQ(TensorOf(*coded, {3, 1, sample}),
              TensorOf(*plain, {3, 1, sample}));
}

TEST(UserCodeTest, ResultsMayHaveAnotherExtentAndChannels) {
  const auto pipeline =
      Make(std::string(kCrop) + Image(4, 20, 1) +
           "ops { resize { height: 2 } } ops { to_image { layout: NHWC } }");
  EXPECT_EQ(pipeline->output().shape, (std::vector<std::uint64_t>{2, 10, 1}));
  EXPECT_GE(pipeline->user_code()->desk_bytes(),
            sizeof(proto::RawImageHeader) + 8 * 6 * 3);
}

TEST(UserCodeTest, FinishedResultsAreTheOutput) {
  const auto pipeline =
      Make(std::string(kCrop) +
           Code("dtype: INT16 shape: 2 shape: 5 finished: true"));
  EXPECT_EQ(pipeline->output().dtype, proto::DType::kInt16);
  EXPECT_EQ(pipeline->output().bytes, 20u);
  const UserCode& code = *pipeline->user_code();
  EXPECT_EQ(code.after(), nullptr);
  Bytes desk(code.desk_bytes(), 7), out(20);
  Workspace workspace{WorkspaceLimits()};
  ASSERT_TRUE(
      code.RunAfter(absl::MakeSpan(desk), {}, workspace, absl::MakeSpan(out))
          .ok());
  EXPECT_EQ(out, Bytes(20, 7));
}

TEST(UserCodeTest, NoHeaderThatTheCodeLeavesIsBelieved) {
  const auto pipeline = Make(std::string(kCrop) + Image(8, 6, 3));
  const UserCode& code = *pipeline->user_code();
  Bytes desk(code.desk_bytes(), 0xff), out(pipeline->output().bytes);
  Workspace workspace{WorkspaceLimits()};
  EXPECT_TRUE(
      code.RunAfter(absl::MakeSpan(desk), {}, workspace, absl::MakeSpan(out))
          .ok());
}

TEST(UserCodeTest, TheTailIsThatOfTheOpsBehind) {
  const auto pipeline =
      Make(std::string(kCrop) + Image(8, 6, 3) + kFloats, Part::kBeforeTail);
  ASSERT_NE(pipeline->tail(), nullptr);
  EXPECT_EQ(pipeline->output().dtype, proto::DType::kUint8);
  EXPECT_EQ(pipeline->output().shape, (std::vector<std::uint64_t>{8, 6, 3}));
}

TEST(UserCodeTest, RefusesAndNamesTheOp) {
  const std::string name = "transform 2 (user code): ";
  EXPECT_EQ(Refusal(Image(8, 8, 3)),
            "images may differ in size: add RandomResizedCrop(size), or "
            "Resize(size) and CenterCrop(size)");
  EXPECT_EQ(Refusal(std::string(kCrop) + Image(0, 8, 3)),
            name +
                "transforms come after it, so its result must be uint8 of "
                "height, width and 1 or 3 channels");
  EXPECT_THAT(Refusal(std::string(kCrop) + Image(70000, 8, 3)),
              testing::HasSubstr("must be uint8 of height"));
  EXPECT_THAT(Refusal(std::string(kCrop) + Image(8, 8, 4)),
              testing::HasSubstr("must be uint8 of height"));
  EXPECT_EQ(Refusal(std::string(kCrop) + "ops { user_code { dtype: UINT8 } }"),
            name + "an identity has 16 bytes, not 0");
  EXPECT_THAT(Refusal(std::string(kCrop) + Code("dtype: 99 finished: true")),
              testing::HasSubstr("data type 99"));
  EXPECT_EQ(Refusal(std::string(kCrop) +
                    Code("dtype: FLOAT64 shape: 4294967296 shape: 4294967296 "
                         "shape: 4294967296 finished: true")),
            name + "the result's shape is too large");
  EXPECT_EQ(Refusal(std::string(kCrop) +
                    Code("dtype: UINT8 shape: 1 finished: true") + kFloats),
            name + "makes what trainers get: no transform may come after it");
  EXPECT_EQ(Refusal(std::string(kCrop) + kFloats +
                    Code("dtype: UINT8 shape: 1 finished: true")),
            "transform 4 (user code): gets uint8 pixels: put it before "
            "ToDtype");
  EXPECT_EQ(Refusal(std::string(kCrop) + Image(8, 8, 3) + Image(8, 8, 3)),
            "transform 3 (user code): a pipeline has it once at most");
  EXPECT_EQ(Refusal(std::string(kCrop) + Image(8, 8, 3) +
                    "ops { normalize { mean: 0 std: 1 } }"),
            "transform 3 (Normalize): needs floating-point pixels: put "
            "ToDtype(float32, scale=True) before it");
}

TEST(UserCodeTest, IsNotForReaders) {
  EXPECT_FALSE(CheckNothingRandom(Spec(Image(8, 8, 3))).ok());
}

}  // namespace
}  // namespace forebay::pipeline
