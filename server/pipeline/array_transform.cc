// Takes arrays through ops of audio and the ArrayPipelines around them.
//
// Each array makes three trips through the ops. The first trip goes forwards,
// and computes the length of every op's whole output. The second goes
// backwards. For each op, it computes which frames of the op's output are
// needed, and which frames of the input they take. An op that cannot make a
// part of its output makes all of it. The third trip (Work) computes elements,
// for the needed frames only. If a pipeline ends with a crop, for example, only
// the cropped part is resampled. PartFor tells callers which part of a file to
// decode.

#include "server/pipeline/array_transform.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/op_traits.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/tensor_type.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

// The most Resample ops in a pipeline; each holds filter tables of some
// megabytes.
constexpr int kMaxResamples = 4;

// Computes type->bytes from the type's shape. Returns false if the number
// overflows.
bool CountBytes(TensorType* type) {
  const auto bytes = transform::BytesOf(type->dtype, type->shape);
  type->bytes = bytes.value_or(0);
  return bytes.has_value();
}

AxisPart PartOf(const audio::FrameRange& range) {
  return {.begin = range.begin, .length = range.length};
}

// Whether `data` is aligned for floats.
bool IsAligned(const std::uint8_t* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0;
}

// Checks that a pipeline has neither too many ops nor too many Resamples.
absl::Status CheckNumbers(const ArrayTransform::Ops& ops) {
  if (ops.size() > ArrayPipeline::kMaxOps) {
    return absl::InvalidArgumentError(
        absl::StrCat("the pipeline has ", ops.size(), " transforms, more than ",
                     ArrayPipeline::kMaxOps));
  }
  const auto resamples =
      std::count_if(ops.begin(), ops.end(),
                    [](const proto::Op& op) { return op.has_resample(); });
  if (resamples <= kMaxResamples) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the pipeline has ", resamples,
                                                 " times Resample, more than ",
                                                 kMaxResamples));
}

}  // namespace

// Follows types through the ops, one by one. Not thread-safe. Each Create uses
// its own Builder.
class ArrayTransform::Builder {
 public:
  Builder(const TensorType& first, std::optional<std::uint64_t> longest,
          std::uint32_t first_rate)
      : first_(first), longest_(longest), made_(new ArrayTransform) {
    made_->first_rate_ = first_rate;
    signal_.rate = first_rate;
  }

  absl::StatusOr<std::unique_ptr<const ArrayTransform>> Build(const Ops& ops);

 private:
  // Makes an ArrayPipeline of the ops in `part_`. The last of these ops is
  // number `end` - 1 of the field. `behind` is the op of audio that follows;
  // null if none follows.
  absl::Status EndPart(int end, const proto::Op* behind);
  // Adds an op of audio behind the last part. No other op gets here: Build
  // takes ops of audio out of the list.
  absl::Status AddStage(const proto::Op& op);

  const TensorType first_;
  const std::optional<std::uint64_t> longest_;
  std::unique_ptr<ArrayTransform> made_;
  // Ops behind the last stage so far; they are not of audio.
  Ops part_;
  std::uint16_t windows_ = 0;
  std::uint16_t draws_ = 0;
  // The longest signal behind the stages so far.
  audio::Signal signal_;
  bool is_ragged_ = false;
};

absl::StatusOr<std::unique_ptr<const ArrayTransform>>
ArrayTransform::Builder::Build(const Ops& ops) {
  FOREBAY_RETURN_IF_ERROR(CheckNumbers(ops));
  for (int i = 0; i < ops.size(); ++i) {
    if (!HasDomain(ops[i], proto::OpTraits::AUDIO)) {
      *part_.Add() = ops[i];
      continue;
    }
    FOREBAY_RETURN_IF_ERROR(EndPart(i, &ops[i]));
    if (absl::Status status = AddStage(ops[i]); !status.ok())
      return base::Annotate(status, OpTitle(i, ops[i]));
  }
  FOREBAY_RETURN_IF_ERROR(EndPart(ops.size(), nullptr));
  return std::move(made_);
}

absl::Status ArrayTransform::Builder::EndPart(int end,
                                              const proto::Op* behind) {
  OpPlace place{.first_op = end - part_.size(), .first_window = windows_};
  if (made_->parts_.empty()) {
    // Clips may differ in their number of channels if a ToMono comes next. Only
    // audio files may do so, because their batches are planned by frames.
    place.any_channels =
        made_->first_rate_ > 0 && behind != nullptr && behind->has_to_mono();
    FOREBAY_ASSIGN_OR_RETURN(
        auto first, ArrayPipeline::Create(part_, first_, longest_, place));
    made_->parts_.push_back(std::move(first));
  } else {
    RaggedArrayType input{.tensor = made_->stages_.back().output};
    if (is_ragged_) input.ragged_axis = 0;
    FOREBAY_ASSIGN_OR_RETURN(auto next,
                             ArrayPipeline::Create(part_, input, place));
    made_->parts_.push_back(std::move(next));
  }
  windows_ += made_->parts_.back()->windows();
  part_.Clear();
  return absl::OkStatus();
}

absl::Status ArrayTransform::Builder::AddStage(const proto::Op& op) {
  FOREBAY_RETURN_IF_ERROR(CheckFields(op));
  const RaggedArrayType& input = made_->parts_.back()->output();
  if (input.tensor.dtype != proto::DType::kFloat32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "takes float32, not ", Describe(input.tensor, input.ragged_axis),
        ": put ToDtype(\"float32\") before it"));
  }
  const std::vector<std::uint64_t>& shape = input.tensor.shape;
  if (shape.empty())
    return absl::InvalidArgumentError("takes arrays, not single numbers");
  FOREBAY_ASSIGN_OR_RETURN(
      auto made,
      audio::MakeAny(op,
                     {.frame_shape = {shape.begin() + 1, shape.end()},
                      .rate = signal_.rate},
                     absl::InternalError("an op of another domain")));
  signal_.frames = shape.front();
  FOREBAY_ASSIGN_OR_RETURN(signal_, made->LongestOf(signal_));
  Stage stage;
  stage.op = std::move(made);
  if (TraitsOf(op).draws())
    stage.draws = static_cast<std::uint16_t>(base::kAudioStreams + draws_++);
  TensorType& output = stage.output;
  output = {.dtype = proto::DType::kFloat32, .shape = stage.op->frame_shape()};
  if (!CountBytes(&output))
    return absl::InvalidArgumentError("makes larger arrays than there can be");
  stage.each = output.bytes / sizeof(float);
  output.shape.insert(output.shape.begin(), signal_.frames);
  if (!CountBytes(&output))
    return absl::InvalidArgumentError("makes larger arrays than there can be");
  is_ragged_ = input.ragged_axis.has_value();
  made_->stages_.push_back(std::move(stage));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const ArrayTransform>> ArrayTransform::Create(
    const Ops& ops, const TensorType& first,
    std::optional<std::uint64_t> longest, std::uint32_t first_rate) {
  return Builder(first, longest, first_rate).Build(ops);
}

std::uint64_t ArrayTransform::LongestFrom(std::uint64_t length) const {
  audio::Signal signal{.frames = length, .rate = first_rate_};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const std::vector<std::uint64_t>& most = parts_[i]->output().tensor.shape;
    signal.frames = std::min(signal.frames, most.front());
    const auto made = stages_[i].op->LongestOf(signal);
    // An array that is too short for an op has no result.
    if (!made.ok()) return 0;
    signal = *made;
  }
  return std::min(signal.frames, output().tensor.shape.front());
}

Outcome ArrayTransform::OutcomeOf(std::uint64_t length,
                                  std::uint32_t rate) const {
  audio::Signal signal{.frames = length, .rate = rate};
  Outcome outcome{.length = length, .frames = length, .rate = rate};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::uint64_t before = signal.frames;
    signal.frames = parts_[i]->LengthFrom(before);
    if (signal.rate > 0) {
      outcome.frames = signal.frames;
    } else if (before > 0) {
      // A spectrogram's frames have no rate. Behind a spectrogram, the covered
      // time shrinks in proportion to the frames that remain, rounded up.
      const unsigned __int128 frames =
          static_cast<unsigned __int128>(outcome.frames) * signal.frames;
      outcome.frames =
          static_cast<std::uint64_t>((frames + before - 1) / before);
    }
    if (i == stages_.size()) break;
    const auto made = stages_[i].op->OutputOf(signal);
    if (!made.ok()) return Outcome{.rate = rate};
    signal = *made;
    if (signal.rate > 0) {
      outcome.frames = signal.frames;
      outcome.rate = signal.rate;
    }
  }
  outcome.length = signal.frames;
  return outcome;
}

absl::Status ArrayTransform::Follow(std::size_t i, const SampleKey& key,
                                    Step* step) const {
  FOREBAY_ASSIGN_OR_RETURN(const ndarray::ArrayView view,
                           parts_[i]->ViewOf(step->input, key));
  step->signal = {.frames = view.axes()[0].length,
                  .rate = step->input.sample_rate};
  if (parts_[i]->input().any_channels)
    step->signal.each = view.axes()[1].length;
  FOREBAY_ASSIGN_OR_RETURN(step->made, stages_[i].op->OutputOf(step->signal));
  step->in = {.begin = 0, .length = step->signal.frames};
  step->part = {.begin = 0, .length = step->made.frames};
  return absl::OkStatus();
}

absl::StatusOr<Array> ArrayTransform::OutputOf(const Stage& stage,
                                               const Step& step) {
  Array output;
  output.type = stage.output;
  output.type.shape.front() = step.made.frames;
  if (!CountBytes(&output.type))
    return absl::InvalidArgumentError("is too long");
  output.sample_rate = step.made.rate;
  return output;
}

absl::StatusOr<std::vector<ArrayTransform::Step>> ArrayTransform::StepsOf(
    const Array& array, const SampleKey& key) const {
  std::vector<Step> steps(stages_.size());
  Array whole;
  whole.type = array.type;
  whole.sample_rate = array.sample_rate;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].input = std::move(whole);
    FOREBAY_RETURN_IF_ERROR(Follow(i, key, &steps[i]));
    FOREBAY_ASSIGN_OR_RETURN(whole, OutputOf(stages_[i], steps[i]));
  }
  // The second trip: finds which part of each op's output is needed.
  FOREBAY_ASSIGN_OR_RETURN(AxisPart wanted, parts_.back()->PartFor(whole, key));
  for (std::size_t i = steps.size(); i-- > 0;) {
    Step& step = steps[i];
    if (stages_[i].op->makes_parts() && parts_[i]->makes_parts()) {
      step.part = {.begin = wanted.begin, .length = wanted.length};
      FOREBAY_ASSIGN_OR_RETURN(step.in,
                               stages_[i].op->InputFor(step.signal, step.part));
    }
    FOREBAY_ASSIGN_OR_RETURN(
        wanted, parts_[i]->PartFor(step.input, key, PartOf(step.in)));
  }
  return steps;
}

absl::StatusOr<AxisPart> ArrayTransform::PartFor(const Array& array,
                                                 const SampleKey& key) const {
  if (stages_.empty()) return parts_.front()->PartFor(array, key);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(array, key));
  return parts_.front()->PartFor(array, key, PartOf(steps.front().in));
}

// The third trip: computes one array's elements, stage by stage. Not
// thread-safe. Borrows the arguments of its constructor.
class ArrayTransform::Work {
 public:
  Work(const Array& array, const SampleKey& key, transform::Scratch& scratch,
       absl::Span<std::uint8_t> out)
      : key_(key), scratch_(scratch), out_(out), array_(array) {}

  // Takes the array through a part and the stage behind it. `is_last` says that
  // the stage's output is the transform's result, which belongs in `out_`.
  absl::Status Run(const ArrayPipeline& part, const Stage& stage,
                   const Step& step, bool is_last);
  const Array& array() const { return array_; }

 private:
  // Returns the view's elements without gaps, cast and normalised by `part`.
  // They are written to scratch memory, unless the array already has them in
  // this form.
  absl::StatusOr<const float*> Gather(const ArrayPipeline& part,
                                      const ndarray::ArrayView& view);

  const SampleKey& key_;
  transform::Scratch& scratch_;
  const absl::Span<std::uint8_t> out_;
  Array array_;
  // Start of the current array in scratch memory; null before the first copy.
  float* own_ = nullptr;
};

absl::StatusOr<const float*> ArrayTransform::Work::Gather(
    const ArrayPipeline& part, const ndarray::ArrayView& view) {
  ndarray::ArrayView merged = view;
  merged.Merge();
  const absl::Span<const ndarray::ArrayView::Axis> axes = merged.axes();
  const bool is_whole = axes.size() == 1 && axes[0].present == axes[0].length &&
                        axes[0].stride == sizeof(float);
  if (part.copies() && is_whole && view.elements() > 0 &&
      IsAligned(view.data()))
    return reinterpret_cast<const float*>(view.data());
  FOREBAY_ASSIGN_OR_RETURN(
      own_, scratch_.Allocate<float>(view.elements(), "an array between ops"));
  part.Write(view, reinterpret_cast<std::uint8_t*>(own_));
  return own_;
}

absl::Status ArrayTransform::Work::Run(const ArrayPipeline& part,
                                       const Stage& stage, const Step& step,
                                       bool is_last) {
  FOREBAY_ASSIGN_OR_RETURN(ndarray::ArrayView view, part.ViewOf(array_, key_));
  view.Cut(0, step.in.begin, step.in.length);
  FOREBAY_ASSIGN_OR_RETURN(const float* const in, Gather(part, view));
  // These products cannot overflow: OutputOf has checked the whole output.
  const std::uint64_t elements = step.part.length * stage.each;
  const std::uint64_t bytes = elements * sizeof(float);
  // If the output is the transform's result and fits into the slot, it goes
  // there. If not, it replaces the input, if the op allows that and the input
  // lies in scratch memory.
  float* to = nullptr;
  if (is_last && bytes <= out_.size() && IsAligned(out_.data())) {
    to = reinterpret_cast<float*>(out_.data());
  } else if (stage.op->in_place() && in == own_ && own_ != nullptr) {
    to = own_;
  } else {
    FOREBAY_ASSIGN_OR_RETURN(
        to, scratch_.Allocate<float>(elements, "an array between ops"));
  }
  transform::PhiloxDraws draws(key_, stage.draws);
  const transform::Drawn drawn = stage.op->Draw(step.signal, draws);
  FOREBAY_RETURN_IF_ERROR(
      stage.op->makes_parts()
          ? stage.op->RunPart(in, step.signal, step.part, drawn, scratch_, to)
          : stage.op->Run(in, step.signal, drawn, scratch_, to));
  own_ = to;
  FOREBAY_ASSIGN_OR_RETURN(array_, OutputOf(stage, step));
  array_.items = {reinterpret_cast<const std::uint8_t*>(to), bytes};
  array_.first = step.part.begin;
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> ArrayTransform::Run(
    const Array& array, const SampleKey& key, Workspace& workspace,
    absl::Span<std::uint8_t> out) const {
  if (stages_.empty()) return parts_.back()->Run(array, key, out);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(array, key));
  transform::Scratch& scratch = workspace.parts().scratch;
  scratch.ResetBehind(array.items);
  Work work(array, key, scratch, out);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const bool is_last = i + 1 == stages_.size() && parts_.back()->is_empty();
    FOREBAY_RETURN_IF_ERROR(
        work.Run(*parts_[i], stages_[i], steps[i], is_last));
  }
  // The last stage has written into the slot. The part behind it is empty, so
  // it only checks the type.
  if (work.array().items.data() == out.data()) {
    FOREBAY_RETURN_IF_ERROR(parts_.back()->ViewOf(work.array(), key).status());
    return work.array().type.bytes;
  }
  auto bytes = parts_.back()->Run(work.array(), key, out);
  if (absl::IsDataLoss(bytes.status()) && array.sample_rate < first_rate_) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a sample rate of ", array.sample_rate,
                     " Hz, less than the first one, and so becomes too long: "
                     "give Resample the "
                     "least rate as lowest_freq"));
  }
  return bytes;
}

}  // namespace forebay::pipeline
