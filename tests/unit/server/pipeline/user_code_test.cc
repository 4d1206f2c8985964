#include "server/pipeline/user_code.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/pipeline/op_traits.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/tail.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

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
  CHECK_THAT(pipeline, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(pipeline.status().message());
}

std::unique_ptr<Pipeline> Make(const std::string& text,
                               Part part = Part::kWhole) {
  auto pipeline = Pipeline::Create(Spec(text), part);
  CHECK_THAT(pipeline, IsOk());
  return *std::move(pipeline);
}

// Returns the tensor of a pipeline whose user code changes nothing.
Bytes TensorOf(const Pipeline& pipeline, const SampleKey& key) {
  Workspace workspace{WorkspaceLimits()};
  const Bytes scene = transform::ReadGolden("scene.png");
  Bytes out(pipeline.output().bytes);
  const UserCode* const code = pipeline.user_code();
  if (code == nullptr) {
    CHECK_THAT(pipeline.Run(scene, key, workspace, absl::MakeSpan(out)),
               IsOk());
    return out;
  }
  Bytes user_buffer(code->user_buffer_bytes());
  CHECK_THAT(pipeline.Run(scene, key, workspace,
                          code->Input(absl::MakeSpan(user_buffer))),
             IsOk());
  CHECK_THAT(code->RunAfter(absl::MakeSpan(user_buffer), key, workspace,
                            absl::MakeSpan(out)),
             IsOk());
  return out;
}

TEST_CASE("User code that changes nothing leaves the bytes as they are",
          "[pipeline][user_code]") {
  const auto coded = Make(std::string(kCrop) + Image(8, 6, 3) + kFloats);
  const auto plain = Make(std::string(kCrop) + kFloats);
  CHECK(coded->output().shape == plain->output().shape);
  CHECK(coded->variant() == plain->variant());
  for (std::uint64_t sample = 0; sample < 5; ++sample)
    CHECK(TensorOf(*coded, {3, 1, sample}) == TensorOf(*plain, {3, 1, sample}));
}

TEST_CASE("Ops behind user code draw by their place in the whole pipeline",
          "[pipeline][user_code]") {
  const std::string flip = "ops { random_horizontal_flip { p: 0.5 } } ";
  const auto coded = Make(std::string(kCrop) + Image(8, 6, 3) + flip);
  // An op that does nothing takes the place of the user code.
  const auto plain = Make(std::string(kCrop) + "ops { to_image {} } " + flip);
  for (std::uint64_t sample = 0; sample < 20; ++sample)
    CHECK(TensorOf(*coded, {3, 1, sample}) == TensorOf(*plain, {3, 1, sample}));
}

TEST_CASE("Results of user code may have another extent and other channels",
          "[pipeline][user_code]") {
  const auto pipeline =
      Make(std::string(kCrop) + Image(4, 20, 1) +
           "ops { resize { height: 2 } } ops { to_image { layout: NHWC } }");
  CHECK(pipeline->output().shape == std::vector<std::uint64_t>{2, 10, 1});
  CHECK(pipeline->user_code()->user_buffer_bytes() >=
        sizeof(proto::RawImageHeader) + 8 * 6 * 3);
}

TEST_CASE("Finished results of user code are the pipeline's output",
          "[pipeline][user_code]") {
  const auto pipeline =
      Make(std::string(kCrop) +
           Code("dtype: INT16 shape: 2 shape: 5 finished: true"));
  CHECK(pipeline->output().dtype == proto::DType::kInt16);
  CHECK(pipeline->output().bytes == 20u);
  const UserCode& code = *pipeline->user_code();
  CHECK(code.after() == nullptr);
  Bytes user_buffer(code.user_buffer_bytes(), 7), out(20);
  Workspace workspace{WorkspaceLimits()};
  REQUIRE_THAT(code.RunAfter(absl::MakeSpan(user_buffer), {}, workspace,
                             absl::MakeSpan(out)),
               IsOk());
  CHECK(out == Bytes(20, 7));
}

TEST_CASE("A header that user code leaves is not believed",
          "[pipeline][user_code]") {
  const auto pipeline = Make(std::string(kCrop) + Image(8, 6, 3));
  const UserCode& code = *pipeline->user_code();
  Bytes user_buffer(code.user_buffer_bytes(), 0xff),
      out(pipeline->output().bytes);
  Workspace workspace{WorkspaceLimits()};
  CHECK_THAT(code.RunAfter(absl::MakeSpan(user_buffer), {}, workspace,
                           absl::MakeSpan(out)),
             IsOk());
}

TEST_CASE("The tail of a pipeline with user code is that of the ops behind it",
          "[pipeline][user_code]") {
  const auto pipeline =
      Make(std::string(kCrop) + Image(8, 6, 3) + kFloats, Part::kBeforeTail);
  REQUIRE(pipeline->tail() != nullptr);
  CHECK(pipeline->output().dtype == proto::DType::kUint8);
  CHECK(pipeline->output().shape == std::vector<std::uint64_t>{8, 6, 3});
}

TEST_CASE("A pipeline refuses wrong user code and names the op",
          "[pipeline][user_code]") {
  const std::string name = "transform 2 (user code): ";
  CHECK(Refusal(Image(8, 8, 3)) ==
        "images may differ in size: add RandomResizedCrop(size), or "
        "Resize(size) and CenterCrop(size)");
  CHECK(Refusal(std::string(kCrop) + Image(0, 8, 3)) ==
        name +
            "transforms come after it, so its result must be uint8 of "
            "height, width and 1 or 3 channels");
  CHECK_THAT(Refusal(std::string(kCrop) + Image(70000, 8, 3)),
             Contains("must be uint8 of height"));
  CHECK_THAT(Refusal(std::string(kCrop) + Image(8, 8, 4)),
             Contains("must be uint8 of height"));
  CHECK(Refusal(std::string(kCrop) + "ops { user_code { dtype: UINT8 } }") ==
        name + "an identity has 16 bytes, not 0");
  CHECK_THAT(Refusal(std::string(kCrop) + Code("dtype: 99 finished: true")),
             Contains("data type 99"));
  CHECK(Refusal(std::string(kCrop) +
                Code("dtype: FLOAT64 shape: 4294967296 shape: 4294967296 "
                     "shape: 4294967296 finished: true")) ==
        name + "the result's shape is too large");
  CHECK(Refusal(std::string(kCrop) +
                Code("dtype: UINT8 shape: 1 finished: true") + kFloats) ==
        name + "makes what trainers get: no transform may come after it");
  CHECK(Refusal(std::string(kCrop) + kFloats +
                Code("dtype: UINT8 shape: 1 finished: true")) ==
        "transform 4 (user code): gets uint8 pixels: put it before "
        "ToDtype");
  CHECK(Refusal(std::string(kCrop) + Image(8, 8, 3) + Image(8, 8, 3)) ==
        "transform 3 (user code): a pipeline has it once at most");
  CHECK(Refusal(std::string(kCrop) + Image(8, 8, 3) +
                "ops { normalize { mean: 0 std: 1 } }") ==
        "transform 3 (Normalize): needs floating-point pixels: put "
        "ToDtype(float32, scale=True) before it");
}

TEST_CASE("User code is not for the transforms of readers",
          "[pipeline][user_code]") {
  CHECK_FALSE(CheckNothingRandom(Spec(Image(8, 8, 3))).ok());
}

TEST_CASE("A window at random is not for the transforms of readers",
          "[pipeline][user_code]") {
  const absl::Status status = CheckNothingRandom(
      Spec("ops { slice { } } ops { random_window { length: 3 } }"));
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(status.message(), Contains("op 2, RandomWindow: draws at random"));
}

}  // namespace
}  // namespace forebay::pipeline
