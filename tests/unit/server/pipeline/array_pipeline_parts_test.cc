// Tests of pipelines that take a part of an array: slices and random windows.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "server/pipeline/array_pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/array_pipeline_fixture.h"

namespace forebay::pipeline {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

using Shape = std::vector<std::uint64_t>;
using Spec = ArraySpec;

TEST_CASE("Slices of an array pipeline are as Python's",
          "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({5, 2});
  const auto slice = [&](std::int64_t start, std::optional<std::int64_t> stop,
                         int axis) {
    return ItemsOf<std::int16_t>(
        *Made(Spec().Slice(start, stop, axis), numbers.array.type),
        numbers.array);
  };
  using Items = std::vector<std::int16_t>;
  CHECK(slice(1, 3, 0) == Items{2, 3, 4, 5});
  CHECK(slice(-2, std::nullopt, 0) == Items{6, 7, 8, 9});
  CHECK(slice(-2, std::nullopt, -2) == Items{6, 7, 8, 9});
  CHECK(slice(0, -4, 0) == Items{0, 1});
  CHECK(slice(1, 99, 1) == Items{1, 3, 5, 7, 9});
  CHECK(slice(4, 2, 0).empty());
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(slice(kMin, 1, 0) == Items{0, 1});
  CHECK(slice(kMax, kMin, 0).empty());
}

TEST_CASE("Random windows are uniform and the same for all arrays of a length",
          "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({10});
  const Numbers<double> others({10, 2});
  const auto pipeline = Made(Spec().CropWindow(4), numbers.array.type, 200);
  const auto other = Made(Spec().CropWindow(4), others.array.type, 999);
  std::vector<int> begun(7);
  for (std::uint64_t sample = 0; sample < 7000; ++sample) {
    const SampleKey key{.seed = 1, .epoch = 2, .sample = sample};
    const auto window = ItemsOf<std::int16_t>(*pipeline, numbers.array, key);
    REQUIRE(window.size() == 4u);
    for (int i = 1; i < 4; ++i) REQUIRE(window[i] == window[0] + i);
    ++begun.at(window[0]);
    REQUIRE(ItemsOf<double>(*other, others.array, key)[0] == 2 * window[0]);
  }
  // Each begin is drawn 1000 times on average; six standard deviations are 176.
  for (const int count : begun) CHECK_THAT(count, WithinAbs(1000, 176));
}

TEST_CASE("Random windows of two axes are drawn independently",
          "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({8, 8});
  const auto pipeline =
      Made(Spec().CropWindow(1, 0).CropWindow(1, 1), numbers.array.type);
  std::vector<int> found(64);
  for (std::uint64_t sample = 0; sample < 2000; ++sample)
    ++found.at(
        ItemsOf<std::int16_t>(*pipeline, numbers.array, {.sample = sample})[0]);
  CHECK(*std::min_element(found.begin(), found.end()) > 0);
}

TEST_CASE("Random windows pad short arrays with zeros",
          "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({2, 2});
  const auto pipeline = Made(
      Spec().CropWindow(3, 0, true).ToDtype(proto::FLOAT32).Normalize({1}, {2}),
      numbers.array.type, 200);
  CHECK(ItemsOf<float>(*pipeline, numbers.array) ==
        std::vector<float>{-.5, 0, .5, 1, -.5, -.5});
  const auto columns =
      Made(Spec().CropWindow(3, 1, true).Transpose({1, 0}), numbers.array.type);
  CHECK(ItemsOf<std::int16_t>(*columns, numbers.array) ==
        std::vector<std::int16_t>{0, 2, 1, 3, 0, 0});
  std::vector<std::uint8_t> out(12);
  const auto strict = Made(Spec().CropWindow(3), numbers.array.type, 200);
  CHECK(
      strict->Run(numbers.array, {}, absl::MakeSpan(out)).status().message() ==
      "has length 2, less than a RandomWindow of 3: set pad_if_needed");
}

// The part of an array that a pipeline looks at gives what the whole array
// gives.
TEST_CASE(
    "The part of an array that its pipeline looks at is enough for the result",
    "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({50, 2});
  const TensorType& type = numbers.array.type;
  const Spec specs[] = {
      Spec(),
      Spec().Slice(7, 30),
      Spec().Slice(-9, std::nullopt),
      Spec().Slice(60, 70),
      Spec().CropWindow(8),
      Spec().CropWindow(64, 0, true),
      Spec().Slice(5, 40).CropWindow(6).Slice(1, 5),
      Spec().CropWindow(8).Transpose({1, 0}),
      Spec().Transpose({1, 0}).CropWindow(8, 1),
      Spec().Slice(20, 25).ToDtype(proto::FLOAT32).Normalize({1}, {2})};
  for (const Spec& spec : specs) {
    const auto pipeline = Made(spec, type, 4000);
    const SampleKey key{.seed = 3, .epoch = 1, .sample = 5};
    const auto part = pipeline->PartFor(numbers.array, key);
    REQUIRE_THAT(part, IsOk());
    REQUIRE(part->begin + part->length <= 50u);
    Array some = numbers.array;
    some.first = part->begin;
    some.items = some.items.subspan(part->begin * 4, part->length * 4);
    std::vector<std::uint8_t> whole(1000);
    std::vector<std::uint8_t> made(1000);
    const auto bytes = pipeline->Run(numbers.array, key, absl::MakeSpan(whole));
    REQUIRE_THAT(bytes, IsOk());
    CHECK(*pipeline->Run(some, key, absl::MakeSpan(made)) == *bytes);
    CHECK(made == whole);
    if (pipeline->TakesPartAlone(*part)) {
      REQUIRE(*bytes == some.items.size());
      CHECK(std::equal(some.items.begin(), some.items.end(), whole.begin()));
    }
  }
}

TEST_CASE(
    "An array pipeline takes a part alone only where it changes nothing else",
    "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({50, 2});
  const auto alone = [&](const Spec& spec) {
    const auto pipeline = Made(spec, numbers.array.type, 4000);
    return pipeline->TakesPartAlone(*pipeline->PartFor(numbers.array, {}));
  };
  CHECK(alone(Spec()));
  CHECK(alone(Spec().Slice(1, 9).CropWindow(3)));
  CHECK_FALSE(alone(Spec().CropWindow(64, 0, true)));
  CHECK_FALSE(alone(Spec().CropWindow(8).Transpose({1, 0})));
  CHECK_FALSE(alone(Spec().ToDtype(proto::FLOAT32)));
}

TEST_CASE("A slice bounds the length of a ragged axis",
          "[pipeline][array_pipeline_parts]") {
  const Numbers<std::int16_t> numbers({100});
  const TensorType& type = numbers.array.type;
  CHECK(Made(Spec().Slice(0, 7), type, 400)->output().tensor.shape == Shape{7});
  CHECK(Made(Spec().Slice(5, 2), type, 400)->output().tensor.shape == Shape{0});
  const auto last = Made(Spec().Slice(-7, std::nullopt), type, 400);
  CHECK(last->output().tensor.shape == Shape{200});
  CHECK(ItemsOf<std::int16_t>(*last, numbers.array).size() == 7u);
}

}  // namespace
}  // namespace forebay::pipeline
