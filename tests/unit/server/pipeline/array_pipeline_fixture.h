#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_ARRAY_PIPELINE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_ARRAY_PIPELINE_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/pipeline/array_pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline {

// An array of the numbers 0, 1, 2, ...
template <typename T>
struct Numbers {
  std::vector<T> items;
  Array array;

  explicit Numbers(const std::vector<std::uint64_t>& shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t length : shape) count *= length;
    items.resize(count);
    std::iota(items.begin(), items.end(), T(0));
    array.type = {
        .dtype = TypeOf(), .shape = shape, .bytes = count * sizeof(T)};
    array.items = {reinterpret_cast<const std::uint8_t*>(items.data()),
                   count * sizeof(T)};
  }

 private:
  static proto::DType TypeOf() {
    if constexpr (std::is_same_v<T, std::int16_t>) return proto::DType::kInt16;
    if constexpr (std::is_same_v<T, std::uint8_t>) return proto::DType::kUint8;
    if constexpr (std::is_same_v<T, double>) return proto::DType::kFloat64;
    return proto::DType::kFloat32;
  }
};

// A list of ops, to which each call adds one.
class ArraySpec {
 public:
  ArraySpec& Slice(std::int64_t start, std::optional<std::int64_t> stop,
                   int axis = 0) {
    proto::Slice* const op = ops_.Add()->mutable_slice();
    op->set_start(start);
    if (stop.has_value()) op->set_stop(*stop);
    op->set_axis(axis);
    return *this;
  }
  ArraySpec& CropWindow(std::uint64_t length, int axis = 0, bool pads = false) {
    proto::RandomWindow* const op = ops_.Add()->mutable_random_window();
    op->set_length(length);
    op->set_axis(axis);
    op->set_pad_if_needed(pads);
    return *this;
  }
  ArraySpec& Transpose(const std::vector<std::uint32_t>& order) {
    ops_.Add()->mutable_transpose()->mutable_order()->Assign(order.begin(),
                                                             order.end());
    return *this;
  }
  ArraySpec& ToDtype(proto::DataType dtype, bool scale = false) {
    proto::ToDtype* const op = ops_.Add()->mutable_to_dtype();
    op->set_dtype(dtype);
    op->set_scale(scale);
    return *this;
  }
  ArraySpec& Normalize(const std::vector<double>& mean,
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

// Returns the items that a pipeline makes of an array.
template <typename T>
std::vector<T> ItemsOf(const ArrayPipeline& pipeline, const Array& array,
                       const SampleKey& key = {}) {
  std::vector<std::uint8_t> out(pipeline.output().tensor.bytes);
  const auto bytes = pipeline.Run(array, key, absl::MakeSpan(out));
  CHECK_THAT(bytes, tests::IsOk());
  if (!bytes.ok()) return {};
  std::vector<T> items(*bytes / sizeof(T));
  if (*bytes > 0) std::memcpy(items.data(), out.data(), *bytes);
  return items;
}

inline std::unique_ptr<const ArrayPipeline> Made(
    const ArraySpec& spec, const TensorType& first,
    std::optional<std::uint64_t> longest = std::nullopt) {
  auto made = ArrayPipeline::Create(spec.get(), first, longest);
  CHECK_THAT(made, tests::IsOk());
  return made.ok() ? *std::move(made) : nullptr;
}

}  // namespace forebay::pipeline

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_ARRAY_PIPELINE_FIXTURE_H_
