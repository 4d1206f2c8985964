// Runs ArrayPipelines: narrows and reorders a view of the array, then writes
// the view's elements row by row.
//
// Slices, windows and transposes never move elements; they change the lengths,
// strides and offset of an ArrayView. Only Write reads elements. It makes one
// pass over the output, in the output's order, and casts each element on the
// way.

#include "server/pipeline/array_pipeline.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/pipeline/transform/draws.h"

namespace forebay::pipeline {
namespace {

static_assert(ArrayPipeline::kMaxOps == base::kMaxPipelineOps);

// Returns the part of the first axis that lies in the array. `view` is one that
// FirstAxis made: it treats each index as one byte.
AxisPart PresentPart(const ArrayView& view) {
  const ArrayView::Axis& axis = view.axes().front();
  return {.begin = view.skipped(),
          .length = axis.present,
          .is_padded = axis.present < axis.length};
}

}  // namespace

bool ArrayPipeline::TakesAnyChannels() const {
  const auto is_of_frames = [](const Op& op) {
    const auto* const slice = std::get_if<Slice>(&op);
    const auto* const window = std::get_if<CropWindow>(&op);
    return (slice != nullptr && slice->axis == 0) ||
           (window != nullptr && window->axis == 0);
  };
  return input_.tensor.shape.size() == 2 && !steps_.use_index() &&
         std::all_of(ops_.begin(), ops_.end(), is_of_frames);
}

std::pair<std::uint64_t, std::uint64_t> ArrayPipeline::PartOf(
    const Slice& slice, std::uint64_t length) {
  const auto count = static_cast<std::int64_t>(length);
  const auto place = [count](std::int64_t at) {
    if (at < 0) at = std::max<std::int64_t>(at, -count) + count;
    return std::min(at, count);
  };
  const std::int64_t begin = place(slice.start);
  const std::int64_t end = slice.stop.has_value() ? place(*slice.stop) : count;
  return {begin, end > begin ? end - begin : 0};
}

absl::Status ArrayPipeline::CheckInput(const Array& array) const {
  const TensorType& type = array.type;
  const std::vector<std::uint64_t>& wanted = input_.tensor.shape;
  bool fits =
      type.dtype == input_.tensor.dtype && type.shape.size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i)
    fits = type.shape[i] == wanted[i] || input_.ragged_axis == i ||
           (input_.any_channels && i == 1 && type.shape[i] > 0);
  if (fits) return absl::OkStatus();
  if (array.sample_rate > 0 && type.shape.size() == 2 && wanted.size() == 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", type.shape.back(), " channels, but the first one has ",
        wanted.back(), ", as all must: make them one by ToMono"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "is an array of ", Describe(type), ", but that of the first one is of ",
      Describe(input_.tensor, input_.ragged_axis), ", as all must be"));
}

// `axis` follows the ragged axis, whose number a Transpose may change.
std::uint64_t ArrayPipeline::LengthFrom(std::uint64_t length) const {
  std::size_t axis = input_.ragged_axis.value_or(0);
  for (const Op& op : ops_) {
    if (const auto* const slice = std::get_if<Slice>(&op)) {
      if (slice->axis == axis) length = PartOf(*slice, length).second;
    } else if (const auto* const window = std::get_if<CropWindow>(&op)) {
      if (window->axis == axis) length = window->length;
    } else {
      const auto& order = std::get<Transpose>(op).order;
      axis = static_cast<std::size_t>(
          std::find(order.begin(), order.end(), axis) - order.begin());
    }
  }
  return length;
}

// A RandomWindow draws no number if the axis is not longer than the window.
absl::Status ArrayPipeline::Apply(const Op& op, const SampleKey& key,
                                  ArrayView& view) const {
  if (const auto* const slice = std::get_if<Slice>(&op)) {
    const auto [begin, length] =
        PartOf(*slice, view.axes()[slice->axis].length);
    view.Cut(slice->axis, begin, length);
  } else if (const auto* const transpose = std::get_if<Transpose>(&op)) {
    view.Permute(transpose->order);
  } else {
    const CropWindow& window = std::get<CropWindow>(op);
    const std::uint64_t length = view.axes()[window.axis].length;
    if (length < window.length && !window.pads) {
      return absl::InvalidArgumentError(
          absl::StrCat("has length ", length, ", less than a RandomWindow of ",
                       window.length, ": set pad_if_needed"));
    }
    transform::PhiloxDraws draws(
        key.seed, key.epoch, key.sample,
        static_cast<std::uint16_t>(base::kWindowStreams + window.number));
    const std::uint64_t begin =
        length <= window.length ? 0 : draws.Below(length - window.length + 1);
    view.Cut(window.axis, begin, window.length);
  }
  return absl::OkStatus();
}

void ArrayPipeline::Write(ArrayView view, std::uint8_t* out) const {
  // Merged axes make fewer and longer rows. They are not merged if a step
  // depends on the index, since merging changes indices.
  if (!steps_.use_index()) view.Merge();
  const absl::Span<const ArrayView::Axis> axes = view.axes();
  const std::uint64_t elements = view.elements();
  if (elements == 0) return;
  if (axes.empty()) return steps_.Run(view.data(), 0, 1, {}, out);
  const ArrayView::Axis& row = axes.back();
  const std::uint64_t out_bytes = proto::SizeOf(steps_.dtype());
  std::array<std::uint64_t, proto::kMaxRank> at{};
  const absl::Span<std::uint64_t> index(at.data(), axes.size());
  // Each iteration writes one row along the last axis: first the elements that
  // are present, then zeros for the elements that padding adds.
  for (std::uint64_t done = 0; done < elements; done += row.length) {
    const std::uint8_t* data = view.data();
    for (std::size_t i = 0; i + 1 < axes.size() && data != nullptr; ++i) {
      const bool is_there = index[i] < axes[i].present;
      data = is_there
                 ? data + static_cast<std::int64_t>(index[i]) * axes[i].stride
                 : nullptr;
    }
    const std::uint64_t present = data == nullptr ? 0 : row.present;
    index.back() = 0;
    steps_.Run(data, row.stride, present, index, out);
    index.back() = present;
    steps_.Run(nullptr, 0, row.length - present, index,
               out + present * out_bytes);
    out += row.length * out_bytes;
    // Moves the index on by one row: counts up over all axes but the last.
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      if (++index[i] < axes[i].length) break;
      index[i] = 0;
    }
  }
}

std::size_t ArrayPipeline::FirstParts() const {
  const auto takes_part = [](const Op& op) {
    const auto* const slice = std::get_if<Slice>(&op);
    const auto* const window = std::get_if<CropWindow>(&op);
    return (slice != nullptr && slice->axis == 0) ||
           (window != nullptr && window->axis == 0);
  };
  return static_cast<std::size_t>(
      std::find_if_not(ops_.begin(), ops_.end(), takes_part) - ops_.begin());
}

absl::StatusOr<ArrayView> ArrayPipeline::FirstAxis(const Array& array,
                                                   const SampleKey& key) const {
  FOREBAY_RETURN_IF_ERROR(CheckInput(array));
  const std::uint64_t length = array.type.shape.front();
  const TensorType bytes{proto::DType::kUint8, {length}, length};
  ArrayView view(bytes, nullptr);
  for (std::size_t i = 0; i < FirstParts(); ++i)
    FOREBAY_RETURN_IF_ERROR(Apply(ops_[i], key, view));
  return view;
}

absl::StatusOr<AxisPart> ArrayPipeline::PartFor(const Array& array,
                                                const SampleKey& key) const {
  FOREBAY_ASSIGN_OR_RETURN(const ArrayView view, FirstAxis(array, key));
  return PresentPart(view);
}

absl::StatusOr<AxisPart> ArrayPipeline::PartFor(const Array& array,
                                                const SampleKey& key,
                                                const AxisPart& made) const {
  FOREBAY_ASSIGN_OR_RETURN(ArrayView view, FirstAxis(array, key));
  if (makes_parts()) view.Cut(0, made.begin, made.length);
  return PresentPart(view);
}

bool ArrayPipeline::TakesPartAlone(const AxisPart& part) const {
  return !part.is_padded && steps_.empty() && FirstParts() == ops_.size();
}

absl::StatusOr<ArrayView> ArrayPipeline::ViewOf(const Array& array,
                                                const SampleKey& key) const {
  FOREBAY_RETURN_IF_ERROR(CheckInput(array));
  ArrayView view(array.type, array.items.data(), array.first);
  for (const Op& op : ops_) FOREBAY_RETURN_IF_ERROR(Apply(op, key, view));
  return view;
}

absl::StatusOr<std::uint64_t> ArrayPipeline::Run(
    const Array& array, const SampleKey& key,
    absl::Span<std::uint8_t> out) const {
  FOREBAY_ASSIGN_OR_RETURN(const ArrayView view, ViewOf(array, key));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(view.elements(), proto::SizeOf(steps_.dtype()),
                             &bytes))
    bytes = ~std::uint64_t{0};
  // `out` has the size that the dataset's index promised. A longer result means
  // that the file has changed or is damaged.
  if (bytes > out.size()) {
    return absl::DataLossError(
        absl::StrCat("becomes ", bytes,
                     " bytes, but when it was indexed at most ", out.size()));
  }
  Write(view, out.data());
  return bytes;
}

}  // namespace forebay::pipeline
