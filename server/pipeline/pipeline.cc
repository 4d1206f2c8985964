#include "server/pipeline/pipeline.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/program.h"
#include "server/pipeline/sample_view.h"
#include "server/pipeline/tensor_writer.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

class CompiledPipeline final : public Pipeline {
 public:
  explicit CompiledPipeline(Program program) : program_(std::move(program)) {
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

  absl::Status Run(absl::Span<const std::uint8_t> encoded, const SampleKey& key,
                   Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    FOREBAY_CHECK(out.size() == output_.bytes);
    Workspace::Parts& parts = workspace.parts();
    parts.scratch.Reset();
    FOREBAY_ASSIGN_OR_RETURN(const decode::ImageInfo info,
                             parts.decoder.Open(encoded));
    SampleView sample(program_, info, parts.decoder, parts.scratch);
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      transform::PhiloxDraws draws(key.seed, key.epoch, key.sample,
                                   program_.ops[i].index);
      FOREBAY_RETURN_IF_ERROR(sample.Apply(i, draws));
    }
    FOREBAY_ASSIGN_OR_RETURN(
        TensorWriter writer,
        TensorWriter::Create(program_, sample.view(), parts.scratch, out));
    return sample.Render(writer);
  }

 private:
  const Program program_;
  TensorType output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(
    const proto::PipelineSpec& spec) {
  FOREBAY_ASSIGN_OR_RETURN(Program program, MakeProgram(spec));
  return std::make_unique<CompiledPipeline>(std::move(program));
}

}  // namespace forebay::pipeline
