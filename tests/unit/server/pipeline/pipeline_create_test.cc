#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/pipeline/pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr char kCrop[] =
    "ops { random_resized_crop { height: 8 width: 8 scale_min: 0.08 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } ";

std::string Refusal(const proto::PipelineSpec& spec) {
  const auto pipeline = Pipeline::Create(spec);
  if (pipeline.ok()) return "accepted";
  CHECK_THAT(pipeline, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(pipeline.status().message());
}

std::string Refusal(const std::string& text) { return Refusal(Spec(text)); }

TensorType Output(const std::string& text) {
  const auto pipeline = Pipeline::Create(Spec(text));
  CHECK_THAT(pipeline, IsOk());
  return pipeline.ok() ? (*pipeline)->output() : TensorType();
}

using Shape = std::vector<std::uint64_t>;

TEST_CASE("A pipeline says what type of tensor it makes",
          "[pipeline][pipeline_create]") {
  const TensorType plain = Output(kCrop);
  CHECK(plain.dtype == proto::DType::kUint8);
  CHECK(plain.shape == Shape{3, 8, 8});
  CHECK(plain.bytes == 192u);
  const TensorType floats = Output(
      std::string(kCrop) + "ops { to_image { layout: NHWC } } " + kImageNet);
  CHECK(floats.dtype == proto::DType::kFloat32);
  CHECK(floats.shape == Shape{8, 8, 3});
  CHECK(floats.bytes == 768u);
  const TensorType gray =
      Output(std::string(kCrop) +
             "ops { grayscale {} } ops { pad { padding { left: 2 top: 1 } } } "
             "ops { to_dtype { dtype: BFLOAT16 } }");
  CHECK(gray.dtype == proto::DType::kBfloat16);
  CHECK(gray.shape == Shape{1, 9, 10});
}

TEST_CASE(
    "A pipeline knows the size after a resize of the shorter edge of a known "
    "size",
    "[pipeline][pipeline_create]") {
  CHECK(Output("ops { center_crop { height: 10 width: 20 } } "
               "ops { resize { height: 5 } }")
            .shape == Shape{3, 5, 10});
}

TEST_CASE("A pipeline refuses varying shapes and says what to add",
          "[pipeline][pipeline_create]") {
  const std::string expected =
      "images may differ in size: add RandomResizedCrop(size), or Resize(size) "
      "and "
      "CenterCrop(size)";
  CHECK(Refusal("") == expected);
  CHECK(Refusal("ops { resize { height: 256 } }") == expected);
  CHECK(Refusal("ops { pad { padding { left: 1 } } }") == expected);
}

TEST_CASE("A pipeline names the op in the wrong place",
          "[pipeline][pipeline_create]") {
  CHECK(Refusal(std::string(kCrop) + "ops { normalize { mean: 0 std: 1 } }") ==
        "transform 2 (Normalize): needs floating-point pixels: put "
        "ToDtype(float32, scale=True) before it");
  CHECK(Refusal(std::string(kImageNet) + kCrop) ==
        "transform 3 (RandomResizedCrop) works on uint8 pixels: put it "
        "before transform 1 (ToDtype)");
  for (const char* op : {"resize { height: 8 width: 8 }", "color_jitter {}",
                         "grayscale {}", "pad { padding { left: 1 } }"}) {
    CAPTURE(op);
    CHECK_THAT(Refusal(std::string(kCrop) + kImageNet + "ops { " + op + " }"),
               Contains("put it before transform 2 (ToDtype)"));
  }
}

TEST_CASE("Flips and crops may follow the conversion to floats",
          "[pipeline][pipeline_create]") {
  CHECK(Refusal(std::string(kCrop) + kImageNet +
                "ops { random_horizontal_flip { p: 0.5 } } "
                "ops { random_vertical_flip { p: 0.5 } } "
                "ops { random_crop { height: 4 width: 4 } } "
                "ops { center_crop { height: 5 width: 5 } } "
                "ops { to_dtype { dtype: FLOAT16 } }") == "accepted");
}

TEST_CASE("Ops that say how images are decoded come first in a pipeline",
          "[pipeline][pipeline_create]") {
  const std::string crop = kCrop, decode = "ops { decode { scaled: true } } ",
                    turn = "ops { exif_transpose {} } ";
  CHECK(Refusal(decode + crop) == "accepted");
  CHECK(Refusal(turn + crop) == "accepted");
  CHECK(Refusal(decode + turn + crop) == "accepted");
  CHECK(Refusal(crop + decode) == "transform 2 (Decode): must come first");
  CHECK(Refusal(decode + decode + crop) ==
        "transform 2 (Decode): must come first");
  CHECK(Refusal(turn + decode + crop) ==
        "transform 2 (Decode): must come first");
  const std::string late =
      " (ExifTranspose): must come first, or right behind Decode";
  CHECK(Refusal(crop + turn) == "transform 2" + late);
  CHECK(Refusal(decode + turn + turn + crop) == "transform 3" + late);
}

TEST_CASE("A pipeline refuses parameters out of range",
          "[pipeline][pipeline_create]") {
  for (const char* op :
       {"", "resize {}", "resize { height: 65536 width: 1 }",
        "resize { height: 9 width: 65536 }", "resize { height: 9 max_size: 9 }",
        "resize { height: 9 width: 9 max_size: 99 }",
        "center_crop { height: 9 }", "random_crop { width: 9 }",
        "random_crop { height: 9 width: 9 padding { left: 65536 } }",
        "random_crop { height: 9 width: 9 padding { fill: 256 } }",
        "random_crop { height: 9 width: 9 padding { fill: [1, 2] } }",
        "random_crop { height: 9 width: 9 padding { fill: nan } }",
        "random_resized_crop { height: 9 width: 9 }",
        // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one string
        "random_resized_crop { height: 9 width: 9 scale_min: 0.5 "
        "scale_max: 0.4 ratio_min: 1 ratio_max: 1 }",
        "random_resized_crop { height: 9 width: 9 scale_min: 0.5 "
        "scale_max: inf ratio_min: 1 ratio_max: 1 }",
        "random_horizontal_flip { p: 1.01 }",
        "random_vertical_flip { p: -0.01 }", "random_vertical_flip { p: nan }",
        "color_jitter { brightness { min: -0.1 max: 1 } }",
        "color_jitter { contrast { min: 2 max: 1 } }",
        "color_jitter { saturation { min: nan max: nan } }",
        "color_jitter { hue { min: -0.6 max: 0 } }",
        "grayscale { num_output_channels: 2 }",
        "pad { padding { bottom: 65536 } }", "to_dtype {}",
        "to_dtype { dtype: INT64 }"}) {
    CAPTURE(op);
    CHECK(Refusal(std::string(kCrop) + "ops { " + op + " }") != "accepted");
  }
  for (const char* op :
       {"normalize {}", "normalize { mean: 0 }", "normalize { mean: 0 std: 0 }",
        "normalize { mean: nan std: 1 }", "normalize { mean: [0, 0] std: 1 }",
        "normalize { mean: 0 std: inf }"}) {
    CAPTURE(op);
    CHECK_THAT(Refusal(std::string(kCrop) + kImageNet + "ops { " + op + " }"),
               Contains("transform 4 (Normalize)"));
  }
}

TEST_CASE("A pipeline refuses enum values of the future",
          "[pipeline][pipeline_create]") {
  proto::PipelineSpec spec = Spec("ops { resize { height: 9 width: 9 } }");
  spec.mutable_ops(0)->mutable_resize()->set_interpolation(
      static_cast<proto::Interpolation>(77));
  CHECK_THAT(Refusal(spec), Contains("interpolation is 77"));
  spec = Spec(std::string(kCrop) + "ops { pad { padding { left: 1 } } }");
  spec.mutable_ops(1)->mutable_pad()->mutable_padding()->set_mode(
      static_cast<proto::PaddingMode>(77));
  CHECK_THAT(Refusal(spec), Contains("mode is 77"));
  spec = Spec(std::string(kCrop) + "ops { to_dtype { dtype: FLOAT32 } }");
  spec.mutable_ops(1)->mutable_to_dtype()->set_dtype(
      static_cast<proto::DataType>(77));
  CHECK(Refusal(spec) != "accepted");
  spec = Spec(std::string(kCrop) + "ops { to_image {} }");
  spec.mutable_ops(1)->mutable_to_image()->set_layout(
      static_cast<proto::ToImage::Layout>(77));
  CHECK_THAT(Refusal(spec), Contains("layout is 77"));
}

TEST_CASE("A pipeline refuses too many ops", "[pipeline][pipeline_create]") {
  proto::PipelineSpec spec = Spec(kCrop);
  for (int i = 0; i < 64; ++i) *spec.add_ops() = spec.ops(0);
  CHECK_THAT(Refusal(spec), Contains("65 transforms"));
}

}  // namespace
}  // namespace forebay::pipeline
