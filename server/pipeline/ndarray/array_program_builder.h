#ifndef FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_BUILDER_H_
#define FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/ndarray/array_op.h"
#include "server/pipeline/ndarray/array_program.h"
#include "server/pipeline/ndarray/element_steps.h"
#include "server/pipeline/transform/tensor_type.h"

namespace forebay::pipeline::ndarray {

// Follows shape, type and ragged axis of a field's arrays through the ops, one
// by one, and collects what the ops add. Each op's Add (array_ops.h) reads the
// state that the ops before it left, and changes it.
//
// Not thread-safe. Owns the program until Finish. Never blocks. The only error
// is INVALID_ARGUMENT; its message has the reason, without the op's name.
class ArrayProgramBuilder {
 public:
  // `longest` is the type of the longest array. `ragged_axis` is the axis whose
  // length varies; nullopt if all arrays are alike.
  ArrayProgramBuilder(const transform::TensorType& longest,
                      std::optional<std::size_t> ragged_axis);

  // Begins with an op that draws from the random stream number `stream`.
  void Begin(std::uint16_t stream) { stream_ = stream; }

  // Returns the shape of the longest array behind the ops so far.
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  // Returns the axis of shape() whose length varies; nullopt if none does.
  std::optional<std::size_t> ragged_axis() const { return ragged_axis_; }
  // Returns the type of the elements.
  proto::DType dtype() const { return program_.steps.dtype(); }
  // Returns the axis of the input in which arrays may best differ: the first
  // axis that FixLength was called for. Without such a call, this is the axis
  // that is now the first. The input has at least one axis.
  std::size_t BestRaggedAxis() const { return fixed_.value_or(origin_[0]); }
  // Returns the number of an axis. A negative number counts from the last axis,
  // as in NumPy.
  absl::StatusOr<std::size_t> AxisOf(std::int64_t axis) const;
  // Checks that no step comes before this op, as an ArrayOp needs.
  absl::Status CheckNoSteps() const;

  // Sets the length of an axis; for the ragged axis, the largest length.
  void SetLength(std::size_t axis, std::uint64_t length) {
    shape_[axis] = length;
  }
  // Sets the length that an axis has in all arrays from here on. An op that
  // fixes a length calls this before it compares its parameters with shape(),
  // and even if it then returns an error. The reason: a pipeline for arrays of
  // differing lengths first looks for the ragged axis by a walk with the first
  // array's shape. That walk ignores errors, which may be wrong for that shape,
  // and afterwards asks for BestRaggedAxis.
  void FixLength(std::size_t axis, std::uint64_t length);
  // Makes axis number order[i] axis number i.
  void Permute(absl::Span<const std::uint8_t> order);

  // Adds an op. The caller has called CheckNoSteps.
  void Append(std::unique_ptr<const ArrayOp> op);
  // Returns the steps, to which an op adds its own.
  ElementSteps& steps() { return program_.steps; }
  // Removes all steps, so that CheckNoSteps allows an op behind them. Only
  // walks that follow axes and do not use the program call this.
  void ForgetSteps() { program_.steps = ElementSteps(input_dtype_); }

  // Returns the program. The builder must not be used afterwards.
  ArrayProgram Finish() { return std::move(program_); }

 private:
  // Type of the input's elements.
  const proto::DType input_dtype_;
  ArrayProgram program_;
  std::uint16_t stream_ = 0;
  std::vector<std::uint64_t> shape_;
  std::optional<std::size_t> ragged_axis_;
  // Behind the ops so far, axis i is the input's axis origin_[i].
  std::vector<std::size_t> origin_;
  // The input's axis that was given a fixed length first.
  std::optional<std::size_t> fixed_;
};

}  // namespace forebay::pipeline::ndarray

#endif  // FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_BUILDER_H_
