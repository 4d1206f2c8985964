#ifndef FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_
#define FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/array.h"
#include "server/pipeline/ndarray/array_program.h"
#include "server/pipeline/ndarray/array_view.h"
#include "server/pipeline/pipeline.h"

namespace forebay::pipeline {

// A range of indices of an array's first axis.
struct AxisPart {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  // Whether an op adds zeros behind the range, as a RandomWindow does to a
  // short array.
  bool is_padded = false;
};

// The type of a field's arrays. The arrays may differ in the length of one
// axis.
struct RaggedArrayType {
  // Type of the longest array. If `ragged_axis` is nullopt, all arrays have
  // this type.
  TensorType tensor;
  // Number of the axis whose length varies; nullopt if all arrays are alike.
  std::optional<std::size_t> ragged_axis = std::nullopt;
  // Whether arrays of two axes may also differ in the length of the second
  // axis. This is set for clips that a ToMono behind this pipeline makes mono.
  bool any_channels = false;
};

// The place of a pipeline's ops among all ops of a field.
struct OpPlace {
  // Number of the pipeline's first op, from 0; error messages name ops by it.
  int first_op = 0;
  // Number of array ops before the pipeline that draw, such as RandomWindow.
  // The pipeline's first op that draws does so under this number.
  std::uint16_t first_window = 0;
  // Whether the op behind the pipeline takes clips of any number of channels.
  bool any_channels = false;
};

// Turns one array into another: takes parts of axes, reorders axes, casts and
// normalises. The result is written straight to its place in the slot. The draw
// of a field's n-th array op that draws depends only on the sample's key and n.
// Two arrays of one sample that have equal lengths are therefore cut at the
// same place.
//
// Immutable and thread-safe. Owns its ops; borrows the arrays for each call.
// Never blocks. Create fails with INVALID_ARGUMENT; the error names the op. The
// comment on Run lists Run's errors.
class ArrayPipeline {
 public:
  // Ops of one field, in the order in which they apply.
  using Ops = google::protobuf::RepeatedPtrField<proto::Op>;
  static constexpr int kMaxOps = 64;

  // Makes a pipeline from `first`, the type of the first sample's array. If all
  // arrays have that type, `longest` is nullopt. If arrays differ in length,
  // `longest` is the bytes of the largest array. The ragged axis is then the
  // axis of the first RandomWindow; without a RandomWindow, it is the axis that
  // becomes the output's first axis.
  static absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Create(
      const Ops& ops, const TensorType& first,
      std::optional<std::uint64_t> longest, const OpPlace& place = {});
  // Makes a pipeline for arrays whose ragged axis is known already, such as the
  // output of an op of audio.
  static absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Create(
      const Ops& ops, const RaggedArrayType& input, const OpPlace& place);

  // Returns the type of the arrays that Run takes.
  const RaggedArrayType& input() const { return input_; }
  // Returns the type of the arrays that Run makes. Only the first axis may be
  // ragged.
  const RaggedArrayType& output() const { return output_; }
  // Returns the length that an axis of `length` elements in the input has
  // behind all ops. The axis is the ragged axis, or the first axis if no axis
  // is ragged. A RandomWindow makes its full length, even of a shorter input.
  std::uint64_t LengthFrom(std::uint64_t length) const;
  // Returns the number of ops that draw, such as RandomWindow.
  std::uint16_t windows() const { return windows_; }

  // Returns the part of the array's first axis that Run looks at: the part that
  // is left behind the pipeline's first ops. `array` needs a type and a sample
  // rate, but not items. It has at least one axis. INVALID_ARGUMENT: as for
  // Run.
  absl::StatusOr<AxisPart> PartFor(const Array& array,
                                   const SampleKey& key) const;
  // Returns the part of the array's first axis that Run looks at if only the
  // part `made` of the output's first axis is wanted.
  absl::StatusOr<AxisPart> PartFor(const Array& array, const SampleKey& key,
                                   const AxisPart& made) const;
  // Whether a part of the output's first axis can be made from a part of the
  // array. This holds if all ops take parts of the first axis and no step
  // depends on an element's index.
  bool makes_parts() const {
    return FirstParts() == program_.ops.size() && !program_.steps.use_index();
  }
  // Whether Run copies `part` of the array unchanged, without padding. If so,
  // the bytes of `part` may be read straight into the output.
  bool TakesPartAlone(const AxisPart& part) const;

  // Writes the result of `array` into `out`, and returns the result's length in
  // bytes. The array's items must cover the part that PartFor returns.
  // INVALID_ARGUMENT: the array does not have the type input(), or is shorter
  // than a window. DATA_LOSS: the result does not fit in `out`, which has room
  // for at least output().tensor.
  absl::StatusOr<std::uint64_t> Run(const Array& array, const SampleKey& key,
                                    absl::Span<std::uint8_t> out) const;

  // Does the first half of Run: returns a view of the elements that Run writes,
  // in the output's order. The view borrows the array's items.
  absl::StatusOr<ndarray::ArrayView> ViewOf(const Array& array,
                                            const SampleKey& key) const;
  // Does the second half of Run: casts and normalises the view's elements, and
  // writes them into `out`, which has room for all of them.
  void Write(ndarray::ArrayView view, std::uint8_t* out) const;
  // Whether Run changes nothing: each array is its own result.
  bool is_empty() const { return program_.ops.empty() && copies(); }
  // Whether Write copies elements unchanged.
  bool copies() const { return program_.steps.empty(); }

 private:
  ArrayPipeline(const RaggedArrayType& input, const RaggedArrayType& output,
                ndarray::ArrayProgram program, std::uint16_t windows);

  // Checks that an array has the type input(), except for the lengths of axes
  // that may vary.
  absl::Status CheckInput(const Array& array) const;
  // Returns how many ops, from the first op on, take a part of the first axis.
  std::size_t FirstParts() const;
  // Returns the part of the first axis that the first FirstParts() ops leave.
  // The view treats each index as one byte, so its offsets are indices.
  absl::StatusOr<ndarray::ArrayView> FirstAxis(const Array& array,
                                               const SampleKey& key) const;

  RaggedArrayType input_;
  const RaggedArrayType output_;
  const ndarray::ArrayProgram program_;
  const std::uint16_t windows_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_
