#ifndef FOREBAY_SERVER_PIPELINE_ARRAY_TRANSFORM_H_
#define FOREBAY_SERVER_PIPELINE_ARRAY_TRANSFORM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/pipeline/array.h"
#include "server/pipeline/array_pipeline.h"
#include "server/pipeline/audio/op.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::pipeline {

// How long the result is of an array that is one sample's.
struct Outcome {
  // Elements of the axis in which arrays differ, or might.
  std::uint64_t length = 0;
  // Of a clip: the result has as much of the time as so many frames of that
  // rate. The rate is 0 if the array is no clip.
  std::uint64_t frames = 0;
  std::uint32_t rate = 0;  // Hz
};

// All of what a field's arrays go through: ops of audio, and the other ops
// before, between and behind them as an ArrayPipeline each. What comes between
// two ops of audio lies in the workspace; the last one writes straight into the
// array's place. Without ops of audio it is the one ArrayPipeline alone. If a
// part of what an op makes is taken behind it, no more is made, nor looked at.
//
// Immutable and thread-safe; each thread brings its own Workspace. Does not
// block. Create fails with INVALID_ARGUMENT, naming the op.
class ArrayTransform {
 public:
  using Ops = ArrayPipeline::Ops;

  // `first` and `longest` are as ArrayPipeline::Create takes them. Arrays that
  // differ do so in the first axis where the first op of audio gets them.
  // `first_rate` is the first sample's, in Hz; 0: it is no audio.
  static absl::StatusOr<std::unique_ptr<const ArrayTransform>> Create(
      const Ops& ops, const TensorType& first,
      std::optional<std::uint64_t> longest, std::uint32_t first_rate = 0);

  // The type of the arrays that Run takes.
  const ArrayType& input() const { return parts_.front()->input(); }
  // The type of the arrays that Run makes. They may differ in the first axis
  // alone.
  const ArrayType& output() const { return parts_.back()->output(); }
  // The sample rate of the first sample's array; 0: it has none.
  std::uint32_t first_rate() const { return first_rate_; }
  // How many elements the first axis of the output has at most, if the axis in
  // which inputs differ has so many.
  std::uint64_t LongestFrom(std::uint64_t length) const;
  // Returns what becomes of an array if the axis in which inputs differ has so
  // many elements, and its sample rate is `rate`; 0: it has none. Nothing
  // becomes of an array that is too short or too long for an op.
  Outcome OutcomeOf(std::uint64_t length, std::uint32_t rate) const;

  // Returns the part of an array's first axis that Run looks at; see
  // ArrayPipeline.
  absl::StatusOr<AxisPart> PartFor(const Array& array,
                                   const SampleKey& key) const;
  // Whether what Run makes of an array is just that part of it.
  bool TakesPartAlone(const AxisPart& part) const {
    return stages_.empty() && parts_.front()->TakesPartAlone(part);
  }

  // Writes what becomes of `array` into `out`. At least what PartFor says must
  // be there. Returns how many bytes.
  // INVALID_ARGUMENT: it is not of input(), or too short or too long for an
  // op. RESOURCE_EXHAUSTED: the workspace has too little scratch. DATA_LOSS:
  // `out` has no room for it, though it has some for output().tensor. `array`
  // may lie where the workspace unpacks; all else there is lost.
  absl::StatusOr<std::uint64_t> Run(const Array& array, const SampleKey& key,
                                    Workspace& workspace,
                                    absl::Span<std::uint8_t> out) const;

  // Whether Run needs scratch.
  bool uses_scratch() const { return !stages_.empty(); }

 private:
  // An op of audio.
  struct Stage {
    std::unique_ptr<const audio::Op> op;
    std::uint16_t draws = 0;  // the number of its draws
    TensorType output;        // of the longest
    std::uint64_t each = 0;   // elements of a frame of the output
  };
  // An array on its way into an op of audio.
  struct Step {
    Array input;             // of the ops before that one; without items
    audio::Signal signal;    // what the op takes, if it is all there
    audio::Signal made;      // what it makes of that
    audio::FrameRange in;    // of `signal`, what it gets
    audio::FrameRange part;  // of `made`, what it makes
  };
  class Builder;
  class Work;

  ArrayTransform() = default;

  // A step for each stage. Errors are Run's.
  absl::StatusOr<std::vector<Step>> StepsOf(const Array& array,
                                            const SampleKey& key) const;
  // Takes an array as a whole through stage number i.
  absl::Status Follow(std::size_t i, const SampleKey& key, Step* step) const;
  static absl::StatusOr<Array> OutputOf(const Stage& stage, const Step& step);

  std::uint32_t first_rate_ = 0;
  // One more than there are stages: before, between and behind them.
  std::vector<std::unique_ptr<const ArrayPipeline>> parts_;
  std::vector<Stage> stages_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_TRANSFORM_H_
