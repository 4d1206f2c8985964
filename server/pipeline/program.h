#ifndef FOREBAY_SERVER_PIPELINE_PROGRAM_H_
#define FOREBAY_SERVER_PIPELINE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "proto/shm_layout.h"
#include "server/pipeline/transform/geometry.h"
#include "server/pipeline/transform/ops.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline {

// What a padded pixel shows.
struct Fill {
  std::array<std::uint8_t, transform::kColors> pixel{};
  // Whether it was given after the conversion to floating point, and so is
  // `element` (bits of the output's dtype), not `pixel`.
  bool late = false;
  std::array<std::uint32_t, transform::kColors> element{};
};

struct ProgramOp {
  transform::PixelOp op;
  std::uint16_t index = 0;  // in the spec: the op's stream of random numbers
};

// A checked PipelineSpec, with everything worked out that does not depend on
// the sample.
struct Program {
  std::vector<ProgramOp> ops;
  std::vector<Fill> fills;               // by position in `ops`
  std::vector<transform::Color> colors;  // the fills' pixels
  transform::ValueTable table;
  int channels = transform::kColors;  // 3 or 1
  bool channels_last = false;
  transform::Extent extent;  // of the output
};

// Whether ops of this kind change fields of that kind.
bool ActsOn(proto::Op::KindCase op, proto::FieldKind field);

// INVALID_ARGUMENT, naming the op by its position (from 1) and name.
absl::StatusOr<Program> MakeProgram(const proto::PipelineSpec& spec);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PROGRAM_H_
