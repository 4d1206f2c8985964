// Compiles a PipelineSpec into a Program. The options of an op's message say
// what is checked here for all ops alike; the op's own file (image/) does the
// rest.

#include "server/pipeline/program_compiler.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/op_traits.h"

namespace forebay::pipeline {
namespace {

// The most ops of a pipeline.
constexpr int kMaxOps = base::kMaxPipelineOps;

// Adds op number `index` of the pipeline.
absl::Status AddOp(int index, const proto::Op& op,
                   image::ProgramBuilder& program) {
  if (op.kind_case() == proto::Op::KIND_NOT_SET) {
    return absl::InvalidArgumentError(
        absl::StrCat("transform ", index + 1,
                     " is of a kind that this daemon does not know"));
  }
  const std::string name = OpTitle(index, op);
  const int conversion = program.first_conversion();
  if (conversion >= 0 && TraitsOf(op).computes_pixels()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " works on uint8 pixels: put it before transform ",
                     conversion + 1, " (ToDtype)"));
  }
  if (absl::Status status = CheckFields(op); !status.ok())
    return base::Annotate(status, name);
  program.Begin(index);
  return base::Annotate(
      image::AddAny(op, program,
                    absl::InvalidArgumentError(
                        "is for arrays: give it to a field by name")),
      name);
}

}  // namespace

absl::StatusOr<image::Program> MakeProgram(const proto::PipelineSpec& spec,
                                           const image::ProgramInput& input) {
  const int ops = input.first_index + spec.ops_size();
  if (ops > kMaxOps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the pipeline has ", ops, " transforms, more than ", kMaxOps));
  }
  image::ProgramBuilder builder(input);
  for (int i = 0; i < spec.ops_size(); ++i) {
    FOREBAY_RETURN_IF_ERROR(AddOp(input.first_index + i, spec.ops(i), builder));
  }
  return builder.Finish();
}

}  // namespace forebay::pipeline
