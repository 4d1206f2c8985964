#ifndef FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_
#define FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/array.h"
#include "server/pipeline/array_view.h"
#include "server/pipeline/element_steps.h"
#include "server/pipeline/pipeline.h"

namespace forebay::pipeline {

// A part of an array's first axis.
struct AxisPart {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  bool is_padded = false;  // an op adds to what there is
};

// The type of arrays that may differ in one axis.
struct ArrayType {
  // Of the longest, if they differ.
  TensorType tensor;
  std::optional<std::size_t> ragged_axis = std::nullopt;
  // Whether they may differ in the other one of two axes, too: clips, whose
  // channels become one.
  bool any_channels = false;
};

// Where the ops of a pipeline are among those of a field.
struct OpPlace {
  int first_op = 0;                // number of the first one
  std::uint16_t first_window = 0;  // how many RandomWindows come before
  // Whether what comes behind takes clips of any number of channels.
  bool any_channels = false;
};

// Turns one array into another, straight in its place: it takes a part,
// reorders axes, casts and normalises. The first random windows of a sample's
// arrays are at one place, if the arrays are of one length; so are the second
// ones, and so on.
//
// Immutable and thread-safe. Does not block. Create fails with
// INVALID_ARGUMENT, naming the op.
class ArrayPipeline {
 public:
  using Ops = google::protobuf::RepeatedPtrField<proto::Op>;
  static constexpr int kMaxOps = 64;

  // `first` is the type of the first sample's array. If the arrays differ, that
  // is in the axis that a RandomWindow takes a part of, else in the one that
  // becomes the first; `longest` bounds the bytes of each then. Else it is
  // nullopt.
  static absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Create(
      const Ops& ops, const TensorType& first,
      std::optional<std::uint64_t> longest, const OpPlace& place = {});
  // The same, for arrays whose type is known.
  static absl::StatusOr<std::unique_ptr<const ArrayPipeline>> Create(
      const Ops& ops, const ArrayType& input, const OpPlace& place);

  // The type of the arrays that Run takes.
  const ArrayType& input() const { return input_; }
  // The type of the arrays that Run makes. They may differ in the first axis
  // alone.
  const ArrayType& output() const { return output_; }
  // Returns how many elements the axis in which arrays differ has in the
  // output, if it has so many in the input; if they do not differ, the first
  // one. A window counts in full.
  std::uint64_t LengthFrom(std::uint64_t length) const;
  // How many RandomWindows it has.
  std::uint16_t windows() const { return windows_; }

  // Returns the part of an array's first axis that Run looks at: what the first
  // ops leave of it. It has at least one axis. Only the array's type and rate
  // are used. INVALID_ARGUMENT: as Run.
  absl::StatusOr<AxisPart> PartFor(const Array& array,
                                   const SampleKey& key) const;
  // The same for a part of what Run makes, which `made` says of its first axis.
  absl::StatusOr<AxisPart> PartFor(const Array& array, const SampleKey& key,
                                   const AxisPart& made) const;
  // Whether any part of what it makes is made of a part of the array.
  bool makes_parts() const {
    return FirstParts() == ops_.size() && !steps_.use_index();
  }
  // Whether what Run makes of an array is just that part of it.
  bool TakesPartAlone(const AxisPart& part) const;

  // Writes what becomes of `array` into `out`. Returns how many bytes. At least
  // what PartFor says must be there.
  // INVALID_ARGUMENT: it is not of input(), or shorter than a window.
  // DATA_LOSS: `out` has no room for it, though it has some for
  // output().tensor.
  absl::StatusOr<std::uint64_t> Run(const Array& array, const SampleKey& key,
                                    absl::Span<std::uint8_t> out) const;

  // The two parts of Run. The view is of the array's own elements.
  absl::StatusOr<ArrayView> ViewOf(const Array& array,
                                   const SampleKey& key) const;
  // `out` has room for all of the view's elements.
  void Write(ArrayView view, std::uint8_t* out) const;
  // Whether it makes of an array the same one.
  bool is_empty() const { return ops_.empty() && steps_.empty(); }
  // Whether Write copies elements as they are.
  bool copies() const { return steps_.empty(); }

 private:
  struct Slice {
    std::size_t axis;
    std::int64_t start;  // as Python's: negative ones count from the end
    std::optional<std::int64_t> stop;
  };
  struct Window {
    std::size_t axis;
    std::uint64_t length;
    bool pads;
    std::uint16_t number;  // among the windows
  };
  struct Transpose {
    std::vector<std::uint8_t> order;
  };
  using Op = std::variant<Slice, Window, Transpose>;
  class Builder;

  explicit ArrayPipeline(proto::DType dtype) : steps_(dtype) {}

  // Whether the ops do the same to each channel of a clip.
  bool TakesAnyChannels() const;
  static std::pair<std::uint64_t, std::uint64_t> PartOf(const Slice& slice,
                                                        std::uint64_t length);
  absl::Status CheckInput(const Array& array) const;
  // The number of ops that take a part of the first axis before any other.
  std::size_t FirstParts() const;
  // An array with a byte at each index, with the part that these leave.
  absl::StatusOr<ArrayView> FirstAxis(const Array& array,
                                      const SampleKey& key) const;
  absl::Status Apply(const Op& op, const SampleKey& key, ArrayView& view) const;

  ArrayType input_;
  ArrayType output_;
  std::vector<Op> ops_;
  ElementSteps steps_;
  std::uint16_t windows_ = 0;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_PIPELINE_H_
