#include "server/pipeline/pipeline.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/prefix.h"
#include "server/pipeline/program.h"
#include "server/pipeline/sample_view.h"
#include "server/pipeline/tail.h"
#include "server/pipeline/tensor_writer.h"
#include "server/pipeline/variant_writer.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

class CompiledPipeline final : public Pipeline {
 public:
  // The prefix is that of the whole program, so that pipelines share variants
  // whatever part of them runs here.
  CompiledPipeline(Program program, Prefix prefix, std::optional<Tail> tail)
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
    Workspace::Parts& parts = workspace.parts();
    FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info, parts.Open(encoded));
    SampleView sample(program_, info, parts.decoder, parts.scratch);
    FOREBAY_RETURN_IF_ERROR(ApplyOps(sample, 0, prefix_.ops, key));
    const absl::Span<std::uint8_t> variant =
        target.RoomFor(VariantBytes(sample.view()));
    if (variant.empty())
      return FinishFrom(sample, prefix_.ops, key, parts, out);
    if (absl::Status status = WriteVariant(sample, info, prefix_.ops == 0,
                                           parts.decoder, variant);
        !status.ok()) {
      if (workspace.WantsLarger()) return status;
      // Damage outside of the sample's own part of the image does not matter to
      // the sample.
      return Run(encoded, key, workspace, out);
    }
    target.Filled();
    return RunFromVariant(variant, key, workspace, out);
  }

 private:
  // `image` is what the ops before `first_op` made.
  absl::Status RunFrom(std::size_t first_op,
                       absl::Span<const std::uint8_t> image,
                       const SampleKey& key, Workspace::Parts& parts,
                       absl::Span<std::uint8_t> out) const {
    FOREBAY_CHECK(out.size() == output_.bytes);
    FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info, parts.Open(image));
    SampleView sample(program_, info, parts.decoder, parts.scratch);
    return FinishFrom(sample, first_op, key, parts, out);
  }

  // Applies the ops from `first_op` on, and writes the tensor.
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

  absl::Status ApplyOps(SampleView& sample, std::size_t begin, std::size_t end,
                        const SampleKey& key) const {
    for (std::size_t i = begin; i < end; ++i) {
      transform::PhiloxDraws draws(key.seed, key.epoch, key.sample,
                                   program_.ops[i].index);
      FOREBAY_RETURN_IF_ERROR(sample.Apply(i, draws));
    }
    return absl::OkStatus();
  }

  const Program program_;
  const Prefix prefix_;
  const std::optional<Tail> tail_;
  TensorType output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(
    const proto::PipelineSpec& spec, Part part) {
  FOREBAY_ASSIGN_OR_RETURN(Program program, MakeProgram(spec));
  const Prefix prefix = PrefixOf(program);
  std::optional<Tail> tail;
  if (part == Part::kBeforeTail) tail = CutTail(&program);
  return std::make_unique<CompiledPipeline>(std::move(program), prefix, tail);
}

}  // namespace forebay::pipeline
