// Makes ArrayPipelines. A Builder follows the shape and type of arrays through
// the ops. It finds errors before any array is read.
//
// If arrays differ in length, the Builder first looks for the ragged axis. It
// walks through the ops with a map (`origin`) from each current axis to the
// input's axis. The axis of the first RandomWindow is the ragged axis; without
// a RandomWindow, it is the axis that ends up first. The bytes of the longest
// array then give the largest length of that axis. In a second walk, each op is
// checked against the shape so far, and added to the pipeline.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/array_pipeline.h"
#include "server/pipeline/op_traits.h"

namespace forebay::pipeline {
namespace {

using KindCase = proto::Op::KindCase;

// Largest length of a RandomWindow, in elements.
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 40;

// Returns the size in bytes of an array of type `dtype` and shape `shape`;
// nullopt if the number overflows 64 bits.
std::optional<std::uint64_t> BytesOf(proto::DType dtype,
                                     absl::Span<const std::uint64_t> shape) {
  std::uint64_t bytes = proto::SizeOf(dtype);
  for (const std::uint64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) return std::nullopt;
  }
  return bytes;
}

// Returns the number of an axis. A negative number counts from the last axis,
// as in NumPy.
absl::StatusOr<std::size_t> AxisOf(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis >= -count && axis < count)
    return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
  return absl::InvalidArgumentError(
      absl::StrCat("axis is ", axis, ", but the array has ", rank, " axes"));
}

// Whether an axis behind the first one has length 0.
bool HasNoElements(absl::Span<const std::uint64_t> shape) {
  return std::find(shape.begin() + 1, shape.end(), 0) != shape.end();
}

// Whether an op chooses and orders elements, but changes none of them.
bool IsViewOp(KindCase kind) {
  return kind == KindCase::kSlice || kind == KindCase::kRandomWindow ||
         kind == KindCase::kTranspose;
}

}  // namespace

// Follows shape and type through the ops, one by one. Not thread-safe. Each
// Create uses its own Builder.
class ArrayPipeline::Builder {
 public:
  Builder(const RaggedArrayType& input, const OpPlace& place)
      : pipeline_(new ArrayPipeline(input.tensor.dtype)), place_(place) {
    pipeline_->input_ = input;
  }

  // Finds the ragged axis, and sets its largest length in the input's type.
  // `longest` is the bytes of the largest array.
  absl::Status FindRaggedAxis(const Ops& ops, std::uint64_t longest);
  // Adds all ops, and moves the pipeline out to the caller.
  absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Build(const Ops& ops);

 private:
  // Sets the output's type, and checks that only its first axis is ragged.
  absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Finish();
  absl::Status AddKind(const proto::Op& op);
  absl::Status AddSlice(const proto::Slice& op);
  absl::Status AddWindow(const proto::RandomWindow& op);
  absl::StatusOr<Transpose> Read(const proto::Transpose& op) const;
  absl::Status AddTranspose(const proto::Transpose& op);
  absl::Status AddNormalize(const proto::Normalize& op);

  // Returns the title of this pipeline's op number `index`, for messages.
  std::string TitleOf(int index, const proto::Op& op) const {
    return OpTitle(place_.first_op + index, op);
  }

  std::unique_ptr<ArrayPipeline> pipeline_;
  const OpPlace place_;
  // Shape of the longest array behind the ops so far.
  std::vector<std::uint64_t> shape_;
  // Axis of `shape_` whose length varies; nullopt if no axis does.
  std::optional<std::size_t> ragged_;
};

absl::Status ArrayPipeline::Builder::FindRaggedAxis(const Ops& ops,
                                                    std::uint64_t longest) {
  RaggedArrayType& input = pipeline_->input_;
  shape_ = input.tensor.shape;
  // Behind the ops so far, axis i is the input's axis origin[i].
  std::vector<std::size_t> origin(shape_.size());
  std::iota(origin.begin(), origin.end(), 0);
  std::optional<std::size_t> found;
  for (int i = 0; i < ops.size() && !found.has_value(); ++i) {
    const proto::Op& op = ops[i];
    if (op.has_random_window()) {
      const auto axis = AxisOf(op.random_window().axis(), origin.size());
      if (!axis.ok()) return base::Annotate(axis.status(), TitleOf(i, op));
      found = origin[*axis];
    } else if (op.has_transpose()) {
      const auto transpose = Read(op.transpose());
      if (!transpose.ok())
        return base::Annotate(transpose.status(), TitleOf(i, op));
      const std::vector<std::size_t> before = origin;
      for (std::size_t k = 0; k < origin.size(); ++k)
        origin[k] = before[transpose->order[k]];
    }
  }
  if (shape_.empty()) return absl::OkStatus();
  const std::size_t axis = found.value_or(origin.front());
  // `each` is the bytes of the elements at one index of the ragged axis. The
  // axis's largest length is `longest` / `each`, rounded down.
  std::vector<std::uint64_t> others = shape_;
  others[axis] = 1;
  const auto each = BytesOf(input.tensor.dtype, others);
  if (!each.has_value() || *each == 0) return absl::OkStatus();
  input.ragged_axis = axis;
  input.tensor.shape[axis] = longest / *each;
  input.tensor.bytes = input.tensor.shape[axis] * *each;
  return absl::OkStatus();
}

absl::Status ArrayPipeline::Builder::AddKind(const proto::Op& op) {
  FOREBAY_RETURN_IF_ERROR(CheckFields(op));
  if (IsViewOp(op.kind_case()) && !pipeline_->steps_.empty()) {
    return absl::InvalidArgumentError(
        "takes a part or reorders axes: put it before ToDtype and Normalize");
  }
  switch (op.kind_case()) {
    case KindCase::kSlice:
      return AddSlice(op.slice());
    case KindCase::kRandomWindow:
      return AddWindow(op.random_window());
    case KindCase::kTranspose:
      return AddTranspose(op.transpose());
    case KindCase::kToDtype:
      return pipeline_->steps_.AddCast(
          static_cast<proto::DType>(op.to_dtype().dtype()),
          op.to_dtype().scale());
    case KindCase::kNormalize:
      return AddNormalize(op.normalize());
    default:
      return absl::InvalidArgumentError("is for images, not for arrays");
  }
}

absl::Status ArrayPipeline::Builder::AddSlice(const proto::Slice& op) {
  Slice slice{.axis = 0, .start = op.start(), .stop = std::nullopt};
  FOREBAY_ASSIGN_OR_RETURN(slice.axis, AxisOf(op.axis(), shape_.size()));
  if (op.has_stop()) slice.stop = op.stop();
  std::uint64_t& length = shape_[slice.axis];
  if (ragged_ != slice.axis) {
    length = PartOf(slice, length).second;
    // If a bound counts from the ragged axis's end, the largest length stays as
    // it is: an upper bound is enough.
  } else if (slice.start >= 0 && slice.stop.value_or(-1) >= 0) {
    const std::int64_t most = *slice.stop - slice.start;
    length = std::min(
        length, static_cast<std::uint64_t>(std::max<std::int64_t>(most, 0)));
  }
  pipeline_->ops_.emplace_back(slice);
  return absl::OkStatus();
}

absl::Status ArrayPipeline::Builder::AddWindow(const proto::RandomWindow& op) {
  CropWindow window{.axis = 0,
                    .length = op.length(),
                    .pads = op.pad_if_needed(),
                    .number = static_cast<std::uint16_t>(
                        place_.first_window + pipeline_->windows_++)};
  FOREBAY_ASSIGN_OR_RETURN(window.axis, AxisOf(op.axis(), shape_.size()));
  if (window.length == 0 || window.length > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("length is ", window.length, ", not 1 to ", kMaxLength));
  }
  std::uint64_t& length = shape_[window.axis];
  if (ragged_ == window.axis) {
    // From here on, all arrays have the window's length in this axis.
    ragged_.reset();
  } else if (length < window.length && !window.pads) {
    return absl::InvalidArgumentError(
        absl::StrCat("is longer than the axis, which has length ", length,
                     ": set pad_if_needed"));
  }
  length = window.length;
  pipeline_->ops_.emplace_back(window);
  return absl::OkStatus();
}

absl::StatusOr<ArrayPipeline::Transpose> ArrayPipeline::Builder::Read(
    const proto::Transpose& op) const {
  std::vector<std::uint32_t> sorted(op.order().begin(), op.order().end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> wanted(shape_.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  if (sorted != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axes must be 0 to ", wanted.size(), " - 1 in some order"));
  }
  return Transpose{.order = {op.order().begin(), op.order().end()}};
}

absl::Status ArrayPipeline::Builder::AddTranspose(const proto::Transpose& op) {
  FOREBAY_ASSIGN_OR_RETURN(Transpose transpose, Read(op));
  const std::vector<std::uint64_t> before = shape_;
  const std::optional<std::size_t> was_ragged = ragged_;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    shape_[i] = before[transpose.order[i]];
    if (was_ragged == transpose.order[i]) ragged_ = i;
  }
  pipeline_->ops_.emplace_back(std::move(transpose));
  return absl::OkStatus();
}

absl::Status ArrayPipeline::Builder::AddNormalize(const proto::Normalize& op) {
  if (!op.has_axis())
    return pipeline_->steps_.AddNormalize(op, std::nullopt, 1);
  FOREBAY_ASSIGN_OR_RETURN(const std::size_t axis,
                           AxisOf(op.axis(), shape_.size()));
  if (ragged_ == axis && (op.mean_size() > 1 || op.std_size() > 1)) {
    return absl::InvalidArgumentError(
        "arrays differ in the axis that its values are of");
  }
  return pipeline_->steps_.AddNormalize(op, axis, shape_[axis]);
}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>>
ArrayPipeline::Builder::Build(const Ops& ops) {
  shape_ = pipeline_->input_.tensor.shape;
  ragged_ = pipeline_->input_.ragged_axis;
  for (int i = 0; i < ops.size(); ++i) {
    if (absl::Status status = AddKind(ops[i]); !status.ok())
      return base::Annotate(status, TitleOf(i, ops[i]));
  }
  return Finish();
}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>>
ArrayPipeline::Builder::Finish() {
  TensorType& output = pipeline_->output_.tensor;
  output.dtype = pipeline_->steps_.dtype();
  output.shape = shape_;
  const auto bytes = BytesOf(output.dtype, shape_);
  if (!bytes.has_value())
    return absl::InvalidArgumentError("makes larger arrays than there can be");
  output.bytes = *bytes;
  if (ragged_ == 0 && HasNoElements(shape_)) {
    return absl::InvalidArgumentError(
        "leaves nothing of another axis than the one in which arrays differ");
  }
  if (ragged_.has_value() && *ragged_ != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("arrays differ in axis ", *ragged_,
                     ": add RandomWindow, or make it the first by Transpose"));
  }
  pipeline_->output_.ragged_axis = ragged_;
  pipeline_->input_.any_channels =
      place_.any_channels && pipeline_->TakesAnyChannels();
  return std::move(pipeline_);
}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>> ArrayPipeline::Create(
    const Ops& ops, const TensorType& first,
    std::optional<std::uint64_t> longest, const OpPlace& place) {
  if (ops.size() > kMaxOps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the pipeline has ", ops.size(), " transforms, more than ", kMaxOps));
  }
  Builder builder({.tensor = first}, place);
  if (longest.has_value())
    FOREBAY_RETURN_IF_ERROR(builder.FindRaggedAxis(ops, *longest));
  return builder.Build(ops);
}

absl::StatusOr<std::unique_ptr<const ArrayPipeline>> ArrayPipeline::Create(
    const Ops& ops, const RaggedArrayType& input, const OpPlace& place) {
  return Builder(input, place).Build(ops);
}

}  // namespace forebay::pipeline
