#include "server/pipeline/array_pipeline.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/pipeline/array_pipeline_fixture.h"

namespace forebay::pipeline {
namespace {

using Shape = std::vector<std::uint64_t>;
using Spec = ArraySpec;

std::string Refusal(const Spec& spec, const TensorType& first,
                    std::optional<std::uint64_t> longest = std::nullopt) {
  const auto made = ArrayPipeline::Create(spec.get(), first, longest);
  return std::string(made.status().message());
}

TEST_CASE("An array pipeline without ops copies arrays",
          "[pipeline][array_pipeline]") {
  const Numbers<std::int16_t> numbers({3, 4});
  const auto pipeline = Made(Spec(), numbers.array.type);
  CHECK(pipeline->output().tensor.shape == Shape{3, 4});
  CHECK(ItemsOf<std::int16_t>(*pipeline, numbers.array) == numbers.items);
  const Numbers<float> scalar(Shape{});
  CHECK(ItemsOf<float>(*Made(Spec(), scalar.array.type), scalar.array) ==
        std::vector<float>{0});
}

TEST_CASE("An array pipeline transposes and cuts arrays",
          "[pipeline][array_pipeline]") {
  const Numbers<std::int16_t> numbers({2, 3, 2});
  const auto pipeline =
      Made(Spec().Transpose({2, 0, 1}).Slice(1, 3, 2), numbers.array.type);
  CHECK(pipeline->output().tensor.shape == Shape{2, 2, 2});
  CHECK(ItemsOf<std::int16_t>(*pipeline, numbers.array) ==
        std::vector<std::int16_t>{2, 4, 8, 10, 3, 5, 9, 11});
}

TEST_CASE("An array pipeline names the channels of clips that differ",
          "[pipeline][array_pipeline]") {
  Numbers<float> stereo({9, 2});
  const Numbers<float> mono({9, 1});
  const auto pipeline = Made(Spec(), mono.array.type, 4000);
  stereo.array.sample_rate = 8000;
  CHECK(
      pipeline->PartFor(stereo.array, {}).status().message() ==
      "has 2 channels, but the first one has 1, as all must: make them one by "
      "ToMono");
}

TEST_CASE("Any axis of an array may be the ragged one",
          "[pipeline][array_pipeline]") {
  const Numbers<std::int16_t> short_one({2, 3});
  const Numbers<std::int16_t> long_one({2, 40});
  // The second axis may vary if a window of it is taken, or if it becomes the
  // first axis.
  const auto window =
      Made(Spec().CropWindow(3, 1), short_one.array.type, std::uint64_t{300});
  CHECK_FALSE(window->output().ragged_axis.has_value());
  CHECK(window->output().tensor.shape == Shape{2, 3});
  CHECK(ItemsOf<std::int16_t>(*window, long_one.array).size() == 6u);
  const auto turned =
      Made(Spec().Transpose({1, 0}), short_one.array.type, std::uint64_t{300});
  CHECK(turned->output().ragged_axis == 0u);
  CHECK(turned->output().tensor.shape == Shape{75, 2});
  CHECK(ItemsOf<std::int16_t>(*turned, short_one.array) ==
        std::vector<std::int16_t>{0, 3, 1, 4, 2, 5});
  CHECK(ItemsOf<std::int16_t>(*turned, long_one.array).size() == 80u);
  const Numbers<std::int16_t> odd({3, 3});
  std::vector<std::uint8_t> out(turned->output().tensor.bytes);
  CHECK(turned->Run(odd.array, {}, absl::MakeSpan(out)).status().message() ==
        "is an array of int16 (3, 3), but that of the first one is of int16 "
        "(2, n), as all must be");
}

TEST_CASE("A window may be longer than the first array's ragged axis",
          "[pipeline][array_pipeline]") {
  const Numbers<std::int16_t> short_one({2, 3});
  const Numbers<std::int16_t> long_one({2, 40});
  // The longest array, of 300 bytes, is (2, 75).
  const auto window =
      Made(Spec().CropWindow(10, 1), short_one.array.type, std::uint64_t{300});
  CHECK(window->input().ragged_axis == 1u);
  CHECK(window->input().tensor.shape == Shape{2, 75});
  CHECK(window->output().tensor.shape == Shape{2, 10});
  CHECK(ItemsOf<std::int16_t>(*window, long_one.array).size() == 20u);
  std::vector<std::uint8_t> out(window->output().tensor.bytes);
  CHECK(window->Run(short_one.array, {}, absl::MakeSpan(out))
            .status()
            .message() ==
        "has length 3, less than a RandomWindow of 10: set pad_if_needed");
}

TEST_CASE("An array pipeline casts and normalises numbers",
          "[pipeline][array_pipeline]") {
  const Numbers<std::uint8_t> numbers({2, 3});
  const auto scaled =
      Made(Spec().ToDtype(proto::FLOAT32, true), numbers.array.type);
  CHECK(ItemsOf<float>(*scaled, numbers.array)[5] == 5 / 255.F);
  const auto rows = Made(Spec()
                             .Transpose({1, 0})
                             .ToDtype(proto::FLOAT64)
                             .Normalize({0, 1, 2}, {1, 1, 2}, 0),
                         numbers.array.type);
  CHECK(ItemsOf<double>(*rows, numbers.array) ==
        std::vector<double>{0, 3, 0, 3, 0, 1.5});
  const auto columns =
      Made(Spec().ToDtype(proto::FLOAT64).Normalize({0, 1, 2}, {1}, -1),
           numbers.array.type);
  CHECK(ItemsOf<double>(*columns, numbers.array) ==
        std::vector<double>{0, 0, 0, 3, 3, 3});
  const auto wide = Made(Spec().ToDtype(proto::INT64), numbers.array.type);
  CHECK(ItemsOf<std::int64_t>(*wide, numbers.array)[4] == 4);
}

TEST_CASE("An array pipeline converts long rows correctly in blocks",
          "[pipeline][array_pipeline]") {
  const Numbers<double> numbers({2, 5000});
  const auto pipeline =
      Made(Spec()
               .Slice(1, std::nullopt, 1)
               .ToDtype(proto::FLOAT32)
               .Normalize(std::vector<double>(4999, 1), {2}, 1),
           numbers.array.type);
  const auto items = ItemsOf<float>(*pipeline, numbers.array);
  REQUIRE(items.size() == 9998u);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t number = i / 4999 * 5000 + i % 4999;
    REQUIRE(items[i] == static_cast<float>(number) / 2);
  }
}

TEST_CASE("An array pipeline says which op is wrong",
          "[pipeline][array_pipeline]") {
  const TensorType type = Numbers<std::int16_t>({4, 3}).array.type;
  CHECK(Refusal(Spec().Slice(0, 1, 2), type) ==
        "transform 1 (Slice): axis is 2, but the array has 2 axes");
  CHECK(Refusal(Spec().CropWindow(3, -3), type, 90) ==
        "transform 1 (RandomWindow): axis is -3, but the array has 2 axes");
  CHECK(Refusal(Spec().CropWindow(5), type) ==
        "transform 1 (RandomWindow): is longer than the axis, which has "
        "length 4: set pad_if_needed");
  CHECK(Refusal(Spec().Transpose({0, 0}), type) ==
        "transform 1 (Transpose): axes must be 0 to 2 - 1 in some order");
  CHECK(Refusal(Spec().Transpose({0, 7}), type, 90) ==
        "transform 1 (Transpose): axes must be 0 to 2 - 1 in some order");
  CHECK(Refusal(Spec().ToDtype(proto::FLOAT32).CropWindow(2), type) ==
        "transform 2 (RandomWindow): takes a part or reorders axes: put it "
        "before ToDtype and Normalize");
  CHECK(Refusal(Spec().Normalize({1}, {1}), type) ==
        "transform 1 (Normalize): integers cannot be normalised: put "
        "ToDtype(\"float32\") before it");
  CHECK(Refusal(Spec().ToDtype(proto::FLOAT16).Normalize({1}, {1e-9}), type) ==
        "transform 2 (Normalize): std is 0 once rounded to the dtype");
  CHECK(
      Refusal(Spec().ToDtype(proto::FLOAT32).Normalize({1, 2}, {1}), type) ==
      "transform 2 (Normalize): axis says which one its several values are of");
  CHECK(
      Refusal(Spec().ToDtype(proto::FLOAT32).Normalize({1, 2}, {1}, 1), type) ==
      "transform 2 (Normalize): mean has 2 values for an axis of length 3");
  CHECK(Refusal(Spec().ToDtype(proto::FLOAT32).ToDtype(proto::INT8), type) ==
        "transform 2 (ToDtype): numbers with a fraction do not become "
        "integers here");
  CHECK(Refusal(Spec().ToDtype(proto::INT64, true), type) ==
        "transform 1 (ToDtype): scale=True is for integers that become "
        "numbers with a fraction");
  CHECK(Refusal(Spec().ToDtype(proto::BOOL), type) ==
        "transform 1 (ToDtype): dtype is none of numbers");
  CHECK_THAT(
      Refusal(Spec().CropWindow(2, 0).Transpose({1, 0}).Slice(0, 1), type, 90),
      Catch::Equals(""));
  CHECK(Refusal(Spec()
                    .CropWindow(std::uint64_t{1} << 40, 0, true)
                    .CropWindow(std::uint64_t{1} << 40, 1, true),
                type) == "makes larger arrays than there can be");
  // An axis without indices has no values, but the op needs one.
  CHECK(
      Refusal(Spec().Slice(0, 0).ToDtype(proto::FLOAT32).Normalize({1}, {}, 0),
              type) ==
      "transform 3 (Normalize): std has 0 values for an axis of length "
      "0");
  CHECK(Refusal(Spec().Slice(3, std::nullopt, 1), type, 90) ==
        "leaves nothing of another axis than the one in which arrays "
        "differ");
  ArrayPipeline::Ops ops;
  ops.Add()->mutable_grayscale();
  CHECK(ArrayPipeline::Create(ops, type, std::nullopt).status().message() ==
        "transform 1 (Grayscale): is for images, not for arrays");
}

}  // namespace
}  // namespace forebay::pipeline
