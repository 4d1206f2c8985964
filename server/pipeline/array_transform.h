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

// The length of the result that one sample's array becomes.
struct Outcome {
  // Number of elements of the result's first axis.
  std::uint64_t length = 0;
  // For a clip, the time that the result covers, in frames of `rate`. A
  // spectrogram covers the time of the samples that it was made from. `rate` is
  // 0 if the array is not a clip.
  std::uint64_t frames = 0;
  std::uint32_t rate = 0;  // Hz
};

// Takes a field's arrays through all of the field's ops. Ops of audio run one
// by one. The other ops run in ArrayPipelines: one before the first op of
// audio, one between each two, and one behind the last. Each of these may be
// empty. Arrays between two ops lie in the workspace. The last op writes
// straight into the slot. If a later op takes only a part of an earlier op's
// result, and the earlier op can make parts, only that part is made.
//
// Immutable and thread-safe; each thread brings its own Workspace. Owns its
// ops; borrows arrays and workspace for each call. Never blocks. Create fails
// with INVALID_ARGUMENT; the error names the op. The comment on Run lists Run's
// errors.
class ArrayTransform {
 public:
  using Ops = ArrayPipeline::Ops;

  // Makes the transform of a field. `first` and `longest` are those of
  // ArrayPipeline::Create. If arrays differ in length, the ragged axis must be
  // the first axis where the first op of audio takes them. `first_rate` is the
  // sample rate of the first sample, in Hz; 0 if the field is not audio.
  static absl::StatusOr<std::unique_ptr<const ArrayTransform>> Create(
      const Ops& ops, const TensorType& first,
      std::optional<std::uint64_t> longest, std::uint32_t first_rate = 0);

  // Returns the type of the arrays that Run takes.
  const RaggedArrayType& input() const { return parts_.front()->input(); }
  // Returns the type of the arrays that Run makes. Only the first axis may be
  // ragged.
  const RaggedArrayType& output() const { return parts_.back()->output(); }
  // Returns the first sample's sample rate in Hz; 0 if the field is not audio.
  std::uint32_t first_rate() const { return first_rate_; }
  // Returns the largest length of the output's first axis, for an input whose
  // ragged axis has `length` elements.
  std::uint64_t LongestFrom(std::uint64_t length) const;
  // Returns the outcome of an array with `length` elements along the ragged
  // axis. `rate` is the array's sample rate in Hz; 0 if it has none. The
  // outcome's length is 0 if the array is too short or too long for an op.
  Outcome OutcomeOf(std::uint64_t length, std::uint32_t rate) const;

  // Returns the part of the array's first axis that Run looks at, as
  // ArrayPipeline::PartFor does.
  absl::StatusOr<AxisPart> PartFor(const Array& array,
                                   const SampleKey& key) const;
  // Whether Run copies `part` of the array unchanged, without padding.
  bool TakesPartAlone(const AxisPart& part) const {
    return stages_.empty() && parts_.front()->TakesPartAlone(part);
  }

  // Writes the result of `array` into `out`, and returns the result's length in
  // bytes. The array's items must cover the part that PartFor returns. They may
  // lie in the room that Workspace::RoomToDecompress returned; Run overwrites
  // the rest of the workspace. INVALID_ARGUMENT: the array does not have the
  // type input(), or is too short or too long for an op. RESOURCE_EXHAUSTED:
  // the workspace has too little scratch. DATA_LOSS: the result does not fit in
  // `out`, which has room for at least output().tensor.
  absl::StatusOr<std::uint64_t> Run(const Array& array, const SampleKey& key,
                                    Workspace& workspace,
                                    absl::Span<std::uint8_t> out) const;

  // Whether Run needs scratch memory.
  bool uses_scratch() const { return !stages_.empty(); }

 private:
  // An op of audio, and the facts about its result that do not depend on the
  // sample.
  struct Stage {
    std::unique_ptr<const audio::Op> op;
    // Number of the op's random stream; 0 if the op draws no random numbers.
    std::uint16_t draws = 0;
    // Type of the op's longest result.
    TensorType output;
    // Number of elements in one frame of the result.
    std::uint64_t each = 0;
  };
  // The lengths and ranges of one stage's work on one array. Work computes the
  // elements.
  struct Step {
    // Input of the ArrayPipeline before the op, without items.
    Array input;
    // The op's whole input, even if only a part of it is made.
    audio::Signal signal;
    // The op's whole output, made from that whole input.
    audio::Signal made;
    // Range of frames of `signal` that the op is given.
    audio::FrameRange in;
    // Range of frames of `made` that the op makes.
    audio::FrameRange part;
  };
  class Builder;
  class Work;

  ArrayTransform() = default;

  // Returns a step for each stage. Errors are Run's.
  absl::StatusOr<std::vector<Step>> StepsOf(const Array& array,
                                            const SampleKey& key) const;
  // Fills `step` for stage number i, as if the whole array went through the
  // stage.
  absl::Status Follow(std::size_t i, const SampleKey& key, Step* step) const;
  // Returns the array that is the stage's whole output, without items.
  static absl::StatusOr<Array> OutputOf(const Stage& stage, const Step& step);

  std::uint32_t first_rate_ = 0;
  // The ops that are not of audio. parts_[i] runs before stages_[i], and the
  // last part runs behind the last stage. There is one part more than there are
  // stages.
  std::vector<std::unique_ptr<const ArrayPipeline>> parts_;
  std::vector<Stage> stages_;
};

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_ARRAY_TRANSFORM_H_
