// Compiles pipelines and runs them.
//
// A pipeline without user code is one Program. Most ops only change a view of
// the image (SampleView). The tensor is rendered at the end, row by row, into
// the slot. A pipeline with user code is two Programs, one before the code and
// one behind it. The first makes the code's input: a raw image in a buffer that
// is shared with workers. The second starts from the code's result, which is a
// raw image again.

#include "server/pipeline/pipeline.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/image/program.h"
#include "server/pipeline/prefix.h"
#include "server/pipeline/program_compiler.h"
#include "server/pipeline/sample_view.h"
#include "server/pipeline/tail.h"
#include "server/pipeline/tensor_writer.h"
#include "server/pipeline/user_code.h"
#include "server/pipeline/variant_writer.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

// A pipeline of one program, without user code.
class CompiledPipeline final : public Pipeline {
 public:
  // `prefix` is that of the whole program, even if `program` lacks its tail.
  // Pipelines can therefore share variants, whichever part of them runs in the
  // daemon.
  CompiledPipeline(image::Program program, Prefix prefix,
                   std::optional<Tail> tail)
      : program_(std::move(program)), prefix_(prefix), tail_(tail) {
    const auto channels = static_cast<std::uint64_t>(program_.channels);
    const auto height = static_cast<std::uint64_t>(program_.extent.height);
    const auto width = static_cast<std::uint64_t>(program_.extent.width);
    output_.dtype = program_.table.dtype;
    output_.shape = program_.channels_last
                        ? std::vector<std::uint64_t>{height, width, channels}
                        : std::vector<std::uint64_t>{channels, height, width};
    output_.bytes = channels * height * width * proto::SizeOf(output_.dtype);
  }

  const TensorType& output() const override { return output_; }

  const Tail* tail() const override {
    return tail_.has_value() ? &*tail_ : nullptr;
  }

  absl::Status Run(absl::Span<const std::uint8_t> encoded, const SampleKey& key,
                   Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    return RunFrom(/*first_op=*/0, encoded, key, workspace.parts(), out);
  }

  std::uint64_t variant() const override { return prefix_.variant; }

  absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                              const SampleKey& key, Workspace& workspace,
                              absl::Span<std::uint8_t> out) const override {
    return RunFrom(prefix_.ops, variant, key, workspace.parts(), out);
  }

  absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                          const SampleKey& key, Workspace& workspace,
                          absl::Span<std::uint8_t> out,
                          VariantTarget& target) const override {
    FOREBAY_CHECK(out.size() == output_.bytes);
    if (prefix_.variant == kNoVariant) return Run(encoded, key, workspace, out);
    Workspace::Parts& parts = workspace.parts();
    FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info,
                             parts.Open(encoded, program_.upright));
    SampleView sample(program_, info, parts.decoder, parts.scratch);
    FOREBAY_RETURN_IF_ERROR(ApplyOps(sample, 0, prefix_.ops, key));
    const absl::Span<std::uint8_t> variant =
        target.RoomFor(VariantBytes(sample.view()));
    if (variant.empty())
      return FinishFrom(sample, prefix_.ops, key, parts, out);
    if (absl::Status status = WriteVariant(sample, info, prefix_.ops == 0,
                                           parts.decoder, variant);
        !status.ok()) {
      // The caller runs the image again in the larger workspace, and makes the
      // variant there.
      if (workspace.WantsLarger()) return status;
      // The image may be damaged outside of the part that the sample shows. The
      // sample is therefore made again, without a variant.
      return Run(encoded, key, workspace, out);
    }
    target.Filled();
    return RunFromVariant(variant, key, workspace, out);
  }

 private:
  // Runs the ops from `first_op` on. `image` is the encoded image, or the raw
  // image that the ops before `first_op` made.
  absl::Status RunFrom(std::size_t first_op,
                       absl::Span<const std::uint8_t> image,
                       const SampleKey& key, Workspace::Parts& parts,
                       absl::Span<std::uint8_t> out) const {
    FOREBAY_CHECK(out.size() == output_.bytes);
    FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info,
                             parts.Open(image, program_.upright));
    SampleView sample(program_, info, parts.decoder, parts.scratch);
    return FinishFrom(sample, first_op, key, parts, out);
  }

  // Applies the ops from `first_op` on to the view, and writes the tensor.
  absl::Status FinishFrom(SampleView& sample, std::size_t first_op,
                          const SampleKey& key, Workspace::Parts& parts,
                          absl::Span<std::uint8_t> out) const {
    FOREBAY_RETURN_IF_ERROR(
        ApplyOps(sample, first_op, program_.ops.size(), key));
    FOREBAY_ASSIGN_OR_RETURN(
        TensorWriter writer,
        TensorWriter::Create(program_, sample.view(), parts.scratch, out));
    return sample.Render(writer);
  }

  // Applies the ops from `begin` to `end` - 1. Each op draws from a random
  // stream of its own, so its draws do not depend on other ops.
  absl::Status ApplyOps(SampleView& sample, std::size_t begin, std::size_t end,
                        const SampleKey& key) const {
    for (std::size_t i = begin; i < end; ++i) {
      transform::PhiloxDraws draws(key, program_.ops[i].stream);
      FOREBAY_RETURN_IF_ERROR(sample.Apply(i, draws));
    }
    return absl::OkStatus();
  }

  const image::Program program_;
  const Prefix prefix_;
  const std::optional<Tail> tail_;
  TensorType output_;
};

// Makes a pipeline of one program.
std::unique_ptr<Pipeline> Compile(image::Program program, Part part) {
  const Prefix prefix = PrefixOf(program);
  std::optional<Tail> tail;
  if (part == Part::kBeforeTail) tail = CutTail(&program);
  return std::make_unique<CompiledPipeline>(std::move(program), prefix, tail);
}

// A pipeline with the user's code in its middle. Its Run functions run the part
// before the code, and make the code's input.
class CodedPipeline final : public Pipeline {
 public:
  CodedPipeline(std::unique_ptr<Pipeline> before, TensorType result,
                std::unique_ptr<Pipeline> after)
      : before_(std::move(before)),
        code_(before_->output(), std::move(result), std::move(after)) {}

  const TensorType& output() const override {
    return code_.after() == nullptr ? code_.result() : code_.after()->output();
  }
  const Tail* tail() const override {
    return code_.after() == nullptr ? nullptr : code_.after()->tail();
  }
  const UserCode* user_code() const override { return &code_; }

  absl::Status Run(absl::Span<const std::uint8_t> encoded, const SampleKey& key,
                   Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    return before_->Run(encoded, key, workspace, out);
  }
  std::uint64_t variant() const override { return before_->variant(); }
  absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                              const SampleKey& key, Workspace& workspace,
                              absl::Span<std::uint8_t> out) const override {
    return before_->RunFromVariant(variant, key, workspace, out);
  }
  absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                          const SampleKey& key, Workspace& workspace,
                          absl::Span<std::uint8_t> out,
                          VariantTarget& target) const override {
    return before_->RunAndKeep(encoded, key, workspace, out, target);
  }

 private:
  const std::unique_ptr<Pipeline> before_;
  const UserCode code_;
};

// Makes a pipeline whose op number `place`, from 0, is the user's code.
absl::StatusOr<std::unique_ptr<Pipeline>> CompileCoded(
    const proto::PipelineSpec& spec, int place, Part part) {
  const auto name = [place](const absl::Status& status) {
    return base::Annotate(
        status, absl::StrCat("transform ", place + 1, " (user code)"));
  };
  const proto::UserCode& code = spec.ops(place).user_code();
  auto result = UserCode::ResultOf(code);
  if (!result.ok()) return name(result.status());
  proto::PipelineSpec first, last;
  for (int i = 0; i < spec.ops_size(); ++i) {
    if (i != place) *(i < place ? first : last).add_ops() = spec.ops(i);
  }
  // The code is given pixels with channels last, as NumPy and PIL have them.
  first.add_ops()->mutable_to_image()->set_layout(proto::ToImage::NHWC);
  FOREBAY_ASSIGN_OR_RETURN(image::Program program, MakeProgram(first));
  const int decode_ops = program.decode_ops;
  auto before = Compile(std::move(program), Part::kWhole);
  if (before->output().dtype != proto::DType::kUint8) {
    return name(
        absl::InvalidArgumentError("gets uint8 pixels: put it before ToDtype"));
  }
  std::unique_ptr<Pipeline> after;
  if (!code.finished()) {
    const std::vector<std::uint64_t>& shape = result->shape;
    FOREBAY_ASSIGN_OR_RETURN(
        image::Program rest,
        MakeProgram(last, {.first_index = place + 1,
                           .decode_ops = decode_ops,
                           .channels = static_cast<int>(shape[2]),
                           .extent = transform::ImageExtent{
                               static_cast<std::int64_t>(shape[1]),
                               static_cast<std::int64_t>(shape[0])}}));
    after = Compile(std::move(rest), part);
  } else if (last.ops_size() > 0) {
    return name(absl::InvalidArgumentError(
        "makes what trainers get: no transform may come after it"));
  }
  return std::make_unique<CodedPipeline>(std::move(before), *std::move(result),
                                         std::move(after));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(
    const proto::PipelineSpec& spec, Part part) {
  const auto code =
      std::find_if(spec.ops().begin(), spec.ops().end(),
                   [](const proto::Op& op) { return op.has_user_code(); });
  if (code == spec.ops().end()) {
    FOREBAY_ASSIGN_OR_RETURN(image::Program program, MakeProgram(spec));
    return Compile(std::move(program), part);
  }
  return CompileCoded(spec, static_cast<int>(code - spec.ops().begin()), part);
}

}  // namespace forebay::pipeline
