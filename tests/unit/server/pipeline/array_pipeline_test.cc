#include "server/pipeline/array_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace forebay::pipeline {
namespace {

using proto::DType;
using Shape = std::vector<std::uint64_t>;

template <typename T>
DType TypeOf() {
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUint8;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  return DType::kFloat32;
}

// An array of 0, 1, 2, ...
template <typename T>
struct Numbers {
  std::vector<T> items;
  Array array;

  explicit Numbers(const Shape& shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t length : shape) count *= length;
    items.resize(count);
    std::iota(items.begin(), items.end(), T(0));
    array.type = {
        .dtype = TypeOf<T>(), .shape = shape, .bytes = count * sizeof(T)};
    array.items = {reinterpret_cast<const std::uint8_t*>(items.data()),
                   count * sizeof(T)};
  }
};

class Spec {
 public:
  Spec& Slice(std::int64_t start, std::optional<std::int64_t> stop,
              int axis = 0) {
    proto::Slice* const op = ops_.Add()->mutable_slice();
    op->set_start(start);
    if (stop.has_value()) op->set_stop(*stop);
    op->set_axis(axis);
    return *this;
  }
  Spec& Window(std::uint64_t length, int axis = 0, bool pads = false) {
    proto::RandomWindow* const op = ops_.Add()->mutable_random_window();
    op->set_length(length);
    op->set_axis(axis);
    op->set_pad_if_needed(pads);
    return *this;
  }
  Spec& Transpose(const std::vector<std::uint32_t>& order) {
    ops_.Add()->mutable_transpose()->mutable_order()->Assign(order.begin(),
                                                             order.end());
    return *this;
  }
  Spec& ToDtype(proto::DataType dtype, bool scale = false) {
    proto::ToDtype* const op = ops_.Add()->mutable_to_dtype();
    op->set_dtype(dtype);
    op->set_scale(scale);
    return *this;
  }
  Spec& Normalize(const std::vector<double>& mean,
                  const std::vector<double>& std,
                  std::optional<int> axis = std::nullopt) {
    proto::Normalize* const op = ops_.Add()->mutable_normalize();
    op->mutable_mean()->Assign(mean.begin(), mean.end());
    op->mutable_std()->Assign(std.begin(), std.end());
    if (axis.has_value()) op->set_axis(*axis);
    return *this;
  }
  const ArrayPipeline::Ops& get() const { return ops_; }

 private:
  ArrayPipeline::Ops ops_;
};

template <typename T>
std::vector<T> ItemsOf(const ArrayPipeline& pipeline, const Array& array,
                       const SampleKey& key = {}) {
  std::vector<std::uint8_t> out(pipeline.output().tensor.bytes);
  const auto bytes = pipeline.Run(array, key, absl::MakeSpan(out));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return {};
  std::vector<T> items(*bytes / sizeof(T));
  if (*bytes > 0) std::memcpy(items.data(), out.data(), *bytes);
  return items;
}

std::unique_ptr<const ArrayPipeline> Made(
    const Spec& spec, const TensorType& first,
    std::optional<std::uint64_t> longest = std::nullopt) {
  auto made = ArrayPipeline::Create(spec.get(), first, longest);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

std::string Refusal(const Spec& spec, const TensorType& first,
                    std::optional<std::uint64_t> longest = std::nullopt) {
  const auto made = ArrayPipeline::Create(spec.get(), first, longest);
  return std::string(made.status().message());
}

TEST(ArrayPipelineTest, WithoutOpsItCopies) {
  const Numbers<std::int16_t> numbers({3, 4});
  const auto pipeline = Made(Spec(), numbers.array.type);
  EXPECT_EQ(pipeline->output().tensor.shape, (Shape{3, 4}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*pipeline, numbers.array), numbers.items);
  const Numbers<float> scalar(Shape{});
  EXPECT_EQ(ItemsOf<float>(*Made(Spec(), scalar.array.type), scalar.array),
            std::vector<float>{0});
}

TEST(ArrayPipelineTest, SlicesAreAsPythons) {
  const Numbers<std::int16_t> numbers({5, 2});
  const auto slice = [&](std::int64_t start, std::optional<std::int64_t> stop,
                         int axis) {
    return ItemsOf<std::int16_t>(
        *Made(Spec().Slice(start, stop, axis), numbers.array.type),
        numbers.array);
  };
  using Items = std::vector<std::int16_t>;
  EXPECT_EQ(slice(1, 3, 0), (Items{2, 3, 4, 5}));
  EXPECT_EQ(slice(-2, std::nullopt, 0), (Items{6, 7, 8, 9}));
  EXPECT_EQ(slice(-2, std::nullopt, -2), (Items{6, 7, 8, 9}));
  EXPECT_EQ(slice(0, -4, 0), (Items{0, 1}));
  EXPECT_EQ(slice(1, 99, 1), (Items{1, 3, 5, 7, 9}));
  EXPECT_EQ(slice(4, 2, 0), Items());
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(slice(kMin, 1, 0), (Items{0, 1}));
  EXPECT_EQ(slice(kMax, kMin, 0), Items());
}

TEST(ArrayPipelineTest, TransposesAndCuts) {
  const Numbers<std::int16_t> numbers({2, 3, 2});
  const auto pipeline =
      Made(Spec().Transpose({2, 0, 1}).Slice(1, 3, 2), numbers.array.type);
  EXPECT_EQ(pipeline->output().tensor.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*pipeline, numbers.array),
            (std::vector<std::int16_t>{2, 4, 8, 10, 3, 5, 9, 11}));
}

TEST(ArrayPipelineTest, WindowsAreUniformAndOneForAllArraysOfALength) {
  const Numbers<std::int16_t> numbers({10});
  const Numbers<double> others({10, 2});
  const auto pipeline = Made(Spec().Window(4), numbers.array.type, 200);
  const auto other = Made(Spec().Window(4), others.array.type, 999);
  std::vector<int> begun(7);
  for (std::uint64_t sample = 0; sample < 7000; ++sample) {
    const SampleKey key{.seed = 1, .epoch = 2, .sample = sample};
    const auto window = ItemsOf<std::int16_t>(*pipeline, numbers.array, key);
    ASSERT_EQ(window.size(), 4u);
    for (int i = 1; i < 4; ++i) ASSERT_EQ(window[i], window[0] + i);
    ++begun.at(window[0]);
    ASSERT_EQ(ItemsOf<double>(*other, others.array, key)[0], 2 * window[0]);
  }
  // Six standard deviations are 176.
  for (const int count : begun) EXPECT_NEAR(count, 1000, 176);
}

TEST(ArrayPipelineTest, WindowsOfTwoAxesAreDrawnApart) {
  const Numbers<std::int16_t> numbers({8, 8});
  const auto pipeline =
      Made(Spec().Window(1, 0).Window(1, 1), numbers.array.type);
  std::vector<int> found(64);
  for (std::uint64_t sample = 0; sample < 2000; ++sample)
    ++found.at(
        ItemsOf<std::int16_t>(*pipeline, numbers.array, {.sample = sample})[0]);
  EXPECT_GT(*std::min_element(found.begin(), found.end()), 0);
}

TEST(ArrayPipelineTest, WindowsPadWithZeros) {
  const Numbers<std::int16_t> numbers({2, 2});
  const auto pipeline = Made(
      Spec().Window(3, 0, true).ToDtype(proto::FLOAT32).Normalize({1}, {2}),
      numbers.array.type, 200);
  EXPECT_EQ(ItemsOf<float>(*pipeline, numbers.array),
            (std::vector<float>{-.5, 0, .5, 1, -.5, -.5}));
  const auto columns =
      Made(Spec().Window(3, 1, true).Transpose({1, 0}), numbers.array.type);
  EXPECT_EQ(ItemsOf<std::int16_t>(*columns, numbers.array),
            (std::vector<std::int16_t>{0, 2, 1, 3, 0, 0}));
  std::vector<std::uint8_t> out(12);
  const auto strict = Made(Spec().Window(3), numbers.array.type, 200);
  EXPECT_EQ(
      strict->Run(numbers.array, {}, absl::MakeSpan(out)).status().message(),
      "has length 2, less than a RandomWindow of 3: set pad_if_needed");
}

// A part of an array makes what all of it does.
TEST(ArrayPipelineTest, WhatItLooksAtIsEnough) {
  const Numbers<std::int16_t> numbers({50, 2});
  const TensorType& type = numbers.array.type;
  const Spec specs[] = {
      Spec(),
      Spec().Slice(7, 30),
      Spec().Slice(-9, std::nullopt),
      Spec().Slice(60, 70),
      Spec().Window(8),
      Spec().Window(64, 0, true),
      Spec().Slice(5, 40).Window(6).Slice(1, 5),
      Spec().Window(8).Transpose({1, 0}),
      Spec().Transpose({1, 0}).Window(8, 1),
      Spec().Slice(20, 25).ToDtype(proto::FLOAT32).Normalize({1}, {2})};
  for (const Spec& spec : specs) {
    const auto pipeline = Made(spec, type, 4000);
    const SampleKey key{.seed = 3, .epoch = 1, .sample = 5};
    const auto part = pipeline->PartFor(numbers.array, key);
    ASSERT_TRUE(part.ok()) << part.status();
    ASSERT_LE(part->begin + part->length, 50u);
    Array some = numbers.array;
    some.first = part->begin;
    some.items = some.items.subspan(part->begin * 4, part->length * 4);
    std::vector<std::uint8_t> whole(1000);
    std::vector<std::uint8_t> made(1000);
    const auto bytes = pipeline->Run(numbers.array, key, absl::MakeSpan(whole));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*pipeline->Run(some, key, absl::MakeSpan(made)), *bytes);
    EXPECT_EQ(made, whole);
    if (pipeline->TakesPartAlone(*part)) {
      ASSERT_EQ(*bytes, some.items.size());
      EXPECT_TRUE(
          std::equal(some.items.begin(), some.items.end(), whole.begin()));
    }
  }
}

TEST(ArrayPipelineTest, APartAloneIsNoMoreThanThat) {
  const Numbers<std::int16_t> numbers({50, 2});
  const auto alone = [&](const Spec& spec) {
    const auto pipeline = Made(spec, numbers.array.type, 4000);
    return pipeline->TakesPartAlone(*pipeline->PartFor(numbers.array, {}));
  };
  EXPECT_TRUE(alone(Spec()));
  EXPECT_TRUE(alone(Spec().Slice(1, 9).Window(3)));
  EXPECT_FALSE(alone(Spec().Window(64, 0, true)));
  EXPECT_FALSE(alone(Spec().Window(8).Transpose({1, 0})));
  EXPECT_FALSE(alone(Spec().ToDtype(proto::FLOAT32)));
}

TEST(ArrayPipelineTest, NamesTheChannelsOfClipsThatDiffer) {
  Numbers<float> stereo({9, 2});
  const Numbers<float> mono({9, 1});
  const auto pipeline = Made(Spec(), mono.array.type, 4000);
  stereo.array.sample_rate = 8000;
  EXPECT_EQ(
      pipeline->PartFor(stereo.array, {}).status().message(),
      "has 2 channels, but the first one has 1, as all must: make them one by "
      "ToMono");
}

TEST(ArrayPipelineTest, TheRaggedAxisMayBeAny) {
  const Numbers<std::int16_t> short_one({2, 3});
  const Numbers<std::int16_t> long_one({2, 40});
  // Of the second axis, either a window is taken, or it becomes the first.
  const auto window =
      Made(Spec().Window(3, 1), short_one.array.type, std::uint64_t{300});
  EXPECT_FALSE(window->output().ragged_axis.has_value());
  EXPECT_EQ(window->output().tensor.shape, (Shape{2, 3}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*window, long_one.array).size(), 6u);
  const auto turned =
      Made(Spec().Transpose({1, 0}), short_one.array.type, std::uint64_t{300});
  EXPECT_EQ(turned->output().ragged_axis, 0u);
  EXPECT_EQ(turned->output().tensor.shape, (Shape{75, 2}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*turned, short_one.array),
            (std::vector<std::int16_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*turned, long_one.array).size(), 80u);
  const Numbers<std::int16_t> odd({3, 3});
  std::vector<std::uint8_t> out(turned->output().tensor.bytes);
  EXPECT_EQ(
      turned->Run(odd.array, {}, absl::MakeSpan(out)).status().message(),
      "is an array of int16 (3, 3), but that of the first one is of int16 "
      "(2, n), as all must be");
}

TEST(ArrayPipelineTest, ASliceBoundsWhatIsRagged) {
  const Numbers<std::int16_t> numbers({100});
  const TensorType& type = numbers.array.type;
  EXPECT_EQ(Made(Spec().Slice(0, 7), type, 400)->output().tensor.shape,
            (Shape{7}));
  EXPECT_EQ(Made(Spec().Slice(5, 2), type, 400)->output().tensor.shape,
            (Shape{0}));
  const auto last = Made(Spec().Slice(-7, std::nullopt), type, 400);
  EXPECT_EQ(last->output().tensor.shape, (Shape{200}));
  EXPECT_EQ(ItemsOf<std::int16_t>(*last, numbers.array).size(), 7u);
}

TEST(ArrayPipelineTest, CastsAndNormalises) {
  const Numbers<std::uint8_t> numbers({2, 3});
  const auto scaled =
      Made(Spec().ToDtype(proto::FLOAT32, true), numbers.array.type);
  EXPECT_EQ(ItemsOf<float>(*scaled, numbers.array)[5], 5 / 255.F);
  const auto rows = Made(Spec()
                             .Transpose({1, 0})
                             .ToDtype(proto::FLOAT64)
                             .Normalize({0, 1, 2}, {1, 1, 2}, 0),
                         numbers.array.type);
  EXPECT_EQ(ItemsOf<double>(*rows, numbers.array),
            (std::vector<double>{0, 3, 0, 3, 0, 1.5}));
  const auto columns =
      Made(Spec().ToDtype(proto::FLOAT64).Normalize({0, 1, 2}, {1}, -1),
           numbers.array.type);
  EXPECT_EQ(ItemsOf<double>(*columns, numbers.array),
            (std::vector<double>{0, 0, 0, 3, 3, 3}));
  const auto wide = Made(Spec().ToDtype(proto::INT64), numbers.array.type);
  EXPECT_EQ(ItemsOf<std::int64_t>(*wide, numbers.array)[4], 4);
}

TEST(ArrayPipelineTest, LongRowsGoThroughBlocks) {
  const Numbers<double> numbers({2, 5000});
  const auto pipeline =
      Made(Spec()
               .Slice(1, std::nullopt, 1)
               .ToDtype(proto::FLOAT32)
               .Normalize(std::vector<double>(4999, 1), {2}, 1),
           numbers.array.type);
  const auto items = ItemsOf<float>(*pipeline, numbers.array);
  ASSERT_EQ(items.size(), 9998u);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t number = i / 4999 * 5000 + i % 4999;
    ASSERT_EQ(items[i], static_cast<float>(number) / 2);
  }
}

TEST(ArrayPipelineTest, SaysWhichOpIsWrong) {
  const TensorType type = Numbers<std::int16_t>({4, 3}).array.type;
  EXPECT_EQ(Refusal(Spec().Slice(0, 1, 2), type),
            "transform 1 (Slice): axis is 2, but the array has 2 axes");
  EXPECT_EQ(Refusal(Spec().Window(3, -3), type, 90),
            "transform 1 (RandomWindow): axis is -3, but the array has 2 axes");
  EXPECT_EQ(Refusal(Spec().Window(5), type),
            "transform 1 (RandomWindow): is longer than the axis, which has "
            "length 4: set pad_if_needed");
  EXPECT_EQ(Refusal(Spec().Transpose({0, 0}), type),
            "transform 1 (Transpose): axes must be 0 to 2 - 1 in some order");
  EXPECT_EQ(Refusal(Spec().Transpose({0, 7}), type, 90),
            "transform 1 (Transpose): axes must be 0 to 2 - 1 in some order");
  EXPECT_EQ(Refusal(Spec().ToDtype(proto::FLOAT32).Window(2), type),
            "transform 2 (RandomWindow): takes a part or reorders axes: put it "
            "before ToDtype and Normalize");
  EXPECT_EQ(Refusal(Spec().Normalize({1}, {1}), type),
            "transform 1 (Normalize): integers cannot be normalised: put "
            "ToDtype(\"float32\") before it");
  EXPECT_EQ(
      Refusal(Spec().ToDtype(proto::FLOAT16).Normalize({1}, {1e-9}), type),
      "transform 2 (Normalize): std is 0 once rounded to the dtype");
  EXPECT_EQ(
      Refusal(Spec().ToDtype(proto::FLOAT32).Normalize({1, 2}, {1}), type),
      "transform 2 (Normalize): axis says which one its several values are of");
  EXPECT_EQ(
      Refusal(Spec().ToDtype(proto::FLOAT32).Normalize({1, 2}, {1}, 1), type),
      "transform 2 (Normalize): mean has 2 values for an axis of length 3");
  EXPECT_EQ(Refusal(Spec().ToDtype(proto::FLOAT32).ToDtype(proto::INT8), type),
            "transform 2 (ToDtype): numbers with a fraction do not become "
            "integers here");
  EXPECT_EQ(Refusal(Spec().ToDtype(proto::INT64, true), type),
            "transform 1 (ToDtype): scale=True is for integers that become "
            "numbers with a fraction");
  EXPECT_EQ(Refusal(Spec().ToDtype(proto::BOOL), type),
            "transform 1 (ToDtype): dtype is none of numbers");
  EXPECT_EQ(
      Refusal(Spec().Window(2, 0).Transpose({1, 0}).Slice(0, 1), type, 90), "");
  EXPECT_EQ(Refusal(Spec()
                        .Window(std::uint64_t{1} << 40, 0, true)
                        .Window(std::uint64_t{1} << 40, 1, true),
                    type),
            "makes larger arrays than there can be");
  // An axis without indices has no values, but the op needs one.
  EXPECT_EQ(
      Refusal(Spec().Slice(0, 0).ToDtype(proto::FLOAT32).Normalize({1}, {}, 0),
              type),
      "transform 3 (Normalize): std has 0 values for an axis of length "
      "0");
  EXPECT_EQ(Refusal(Spec().Slice(3, std::nullopt, 1), type, 90),
            "leaves nothing of another axis than the one in which arrays "
            "differ");
  ArrayPipeline::Ops ops;
  ops.Add()->mutable_grayscale();
  EXPECT_EQ(ArrayPipeline::Create(ops, type, std::nullopt).status().message(),
            "transform 1 (Grayscale): is for images, not for arrays");
}

}  // namespace
}  // namespace forebay::pipeline
