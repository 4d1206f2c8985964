// Makes and runs ArrayPipelines.
//
// Create follows the shape and type of arrays through the ops, and finds errors
// before any array is read. If arrays differ in length, RaggedTypeOf first
// looks for the ragged axis, in a walk of its own through the ops. The bytes of
// the longest array then give the largest length of that axis.
//
// Run narrows and reorders a view of the array, then writes the view's elements
// row by row. An ArrayOp never moves elements; it changes the lengths, strides
// and offset of an ArrayView. Only Write reads elements. It makes one pass over
// the output, in the output's order, and casts each element on the way.

#include "server/pipeline/array_pipeline.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/pipeline/ndarray/array_ops.h"
#include "server/pipeline/ndarray/array_program_builder.h"
#include "server/pipeline/op_traits.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/tensor_type.h"

namespace forebay::pipeline {
namespace {

using ndarray::ArrayProgramBuilder;
using ndarray::ArrayView;

static_assert(ArrayPipeline::kMaxOps == base::kMaxPipelineOps);

// Adds an op, which draws from the random stream number `stream`.
absl::Status AddOp(const proto::Op& op, std::uint16_t stream,
                   ArrayProgramBuilder& program) {
  FOREBAY_RETURN_IF_ERROR(CheckFields(op));
  program.Begin(stream);
  return ndarray::AddAny(
      op, program, absl::InvalidArgumentError("is for images, not for arrays"));
}

// Returns the type of a field's arrays. `first` is the type of the first array;
// `longest` is the bytes of the largest one. No axis is ragged if the arrays
// have no axes or no elements.
RaggedArrayType RaggedTypeOf(const ArrayPipeline::Ops& ops,
                             const TensorType& first, std::uint64_t longest) {
  RaggedArrayType type{.tensor = first};
  std::vector<std::uint64_t>& shape = type.tensor.shape;
  if (shape.empty()) return type;
  // This walk only looks at what ops do to axes. Create finds each error in a
  // second walk, which knows the ragged axis. An op may be refused here only
  // because the first array is short, so errors are ignored; FixLength says
  // what ops do all the same. Steps are forgotten, because an ArrayOp behind
  // them is refused.
  ArrayProgramBuilder program(first, std::nullopt);
  for (const proto::Op& op : ops) {
    AddOp(op, 0, program).IgnoreError();
    program.ForgetSteps();
  }
  const std::size_t axis = program.BestRaggedAxis();
  // `each` is the bytes of the elements at one index of the ragged axis. The
  // axis's largest length is `longest` / `each`, rounded down.
  std::vector<std::uint64_t> others = shape;
  others[axis] = 1;
  const auto each = transform::BytesOf(first.dtype, others);
  if (!each.has_value() || *each == 0) return type;
  type.ragged_axis = axis;
  shape[axis] = longest / *each;
  type.tensor.bytes = shape[axis] * *each;
  return type;
}

// Returns the type of the arrays behind all ops, and checks that only its first
// axis is ragged.
absl::StatusOr<RaggedArrayType> OutputOf(const ArrayProgramBuilder& program) {
  const std::vector<std::uint64_t>& shape = program.shape();
  const std::optional<std::size_t> ragged_axis = program.ragged_axis();
  const auto bytes = transform::BytesOf(program.dtype(), shape);
  if (!bytes.has_value())
    return absl::InvalidArgumentError("makes larger arrays than there can be");
  if (ragged_axis == 0 &&
      std::find(shape.begin() + 1, shape.end(), 0) != shape.end()) {
    return absl::InvalidArgumentError(
        "leaves nothing of another axis than the one in which arrays differ");
  }
  if (ragged_axis.value_or(0) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("arrays differ in axis ", *ragged_axis,
                     ": add RandomWindow, or make it the first by Transpose"));
  }
  return RaggedArrayType{.tensor = {program.dtype(), shape, *bytes},
                         .ragged_axis = ragged_axis};
}

// Makes the op's choices for a sample, and changes the sample's view by them.
absl::Status Apply(const ndarray::ArrayProgramOp& op, const SampleKey& key,
                   ArrayView& view) {
  transform::PhiloxDraws draws(key, op.stream);
  FOREBAY_ASSIGN_OR_RETURN(const transform::Drawn drawn,
                           op.op->Draw(view, draws));
  op.op->Apply(drawn, view);
  return absl::OkStatus();
}

// Returns the part of the first axis that lies in the array. `view` is one that
// FirstAxis made: it treats each index as one byte.
AxisPart PresentPart(const ArrayView& view) {
  const ArrayView::Axis& axis = view.axes().front();
  return {.begin = view.skipped(),
          .length = axis.present,
          .is_padded = axis.present < axis.length};
}

}  // namespace

ArrayPipeline::ArrayPipeline(const RaggedArrayType& input,
                             const RaggedArrayType& output,
                             ndarray::ArrayProgram program,
                             std::uint16_t windows)
    : input_(input),
      output_(output),
      program_(std::move(program)),
      windows_(windows) {}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>> ArrayPipeline::Create(
    const Ops& ops, const TensorType& first,
    std::optional<std::uint64_t> longest, const OpPlace& place) {
  if (ops.size() > kMaxOps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the pipeline has ", ops.size(), " transforms, more than ", kMaxOps));
  }
  return Create(ops,
                longest.has_value() ? RaggedTypeOf(ops, first, *longest)
                                    : RaggedArrayType{.tensor = first},
                place);
}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>> ArrayPipeline::Create(
    const Ops& ops, const RaggedArrayType& input, const OpPlace& place) {
  ArrayProgramBuilder program(input.tensor, input.ragged_axis);
  std::uint16_t windows = 0;
  for (int i = 0; i < ops.size(); ++i) {
    const auto stream = static_cast<std::uint16_t>(
        base::kWindowStreams + place.first_window + windows);
    if (absl::Status status = AddOp(ops[i], stream, program); !status.ok())
      return base::Annotate(status, OpTitle(place.first_op + i, ops[i]));
    if (TraitsOf(ops[i]).draws()) ++windows;
  }
  FOREBAY_ASSIGN_OR_RETURN(const RaggedArrayType output, OutputOf(program));
  std::unique_ptr<ArrayPipeline> pipeline(
      new ArrayPipeline(input, output, program.Finish(), windows));
  // All channels of a clip are treated alike if each op takes frames, and no
  // step depends on an element's index.
  pipeline->input_.any_channels = place.any_channels &&
                                  input.tensor.shape.size() == 2 &&
                                  pipeline->makes_parts();
  return pipeline;
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

// `axis` follows the ragged axis, whose number an op may change.
std::uint64_t ArrayPipeline::LengthFrom(std::uint64_t length) const {
  ndarray::AxisLength axis{input_.ragged_axis.value_or(0), length};
  for (const auto& [op, stream] : program_.ops) axis = op->Follow(axis);
  return axis.length;
}

void ArrayPipeline::Write(ArrayView view, std::uint8_t* out) const {
  // Merged axes make fewer and longer rows. They are not merged if a step
  // depends on the index, since merging changes indices.
  if (!program_.steps.use_index()) view.Merge();
  const absl::Span<const ArrayView::Axis> axes = view.axes();
  const std::uint64_t elements = view.elements();
  if (elements == 0) return;
  if (axes.empty()) return program_.steps.Run(view.data(), 0, 1, {}, out);
  const ArrayView::Axis& row = axes.back();
  const std::uint64_t out_bytes = proto::SizeOf(program_.steps.dtype());
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
    program_.steps.Run(data, row.stride, present, index, out);
    index.back() = present;
    program_.steps.Run(nullptr, 0, row.length - present, index,
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
  const auto end = std::find_if_not(
      program_.ops.begin(), program_.ops.end(),
      [](const auto& op) { return op.op->takes_part_of_first_axis(); });
  return static_cast<std::size_t>(end - program_.ops.begin());
}

absl::StatusOr<ArrayView> ArrayPipeline::FirstAxis(const Array& array,
                                                   const SampleKey& key) const {
  FOREBAY_RETURN_IF_ERROR(CheckInput(array));
  const std::uint64_t length = array.type.shape.front();
  const TensorType bytes{proto::DType::kUint8, {length}, length};
  ArrayView view(bytes, nullptr);
  for (std::size_t i = 0; i < FirstParts(); ++i)
    FOREBAY_RETURN_IF_ERROR(Apply(program_.ops[i], key, view));
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
  return !part.is_padded && program_.steps.empty() &&
         FirstParts() == program_.ops.size();
}

absl::StatusOr<ArrayView> ArrayPipeline::ViewOf(const Array& array,
                                                const SampleKey& key) const {
  FOREBAY_RETURN_IF_ERROR(CheckInput(array));
  ArrayView view(array.type, array.items.data(), array.first);
  for (const auto& op : program_.ops)
    FOREBAY_RETURN_IF_ERROR(Apply(op, key, view));
  return view;
}

absl::StatusOr<std::uint64_t> ArrayPipeline::Run(
    const Array& array, const SampleKey& key,
    absl::Span<std::uint8_t> out) const {
  FOREBAY_ASSIGN_OR_RETURN(const ArrayView view, ViewOf(array, key));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(view.elements(),
                             proto::SizeOf(program_.steps.dtype()), &bytes))
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
