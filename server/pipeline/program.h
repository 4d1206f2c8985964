#ifndef FOREBAY_SERVER_PIPELINE_PROGRAM_H_
#define FOREBAY_SERVER_PIPELINE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/pipeline/transform/geometry.h"
#include "server/pipeline/transform/ops.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline {

// The color of padding.
struct Fill {
  std::array<std::uint8_t, transform::kColors> pixel{};
  // Whether the Pad comes after the conversion to floating point. Then
  // `element` counts (bits of the output's dtype), not `pixel`.
  bool late = false;
  std::array<std::uint32_t, transform::kColors> element{};
};

struct ProgramOp {
  transform::PixelOp op;
  // In the spec, without the ops that say how images are decoded: the op's
  // stream of random numbers.
  std::uint16_t index = 0;
};

// A checked PipelineSpec, with all that does not depend on the sample computed.
struct Program {
  bool scaled = false;   // whether images may be decoded at a smaller scale
  bool upright = false;  // whether they are turned as EXIF says
  std::vector<ProgramOp> ops;
  std::vector<Fill> fills;               // by position in `ops`
  std::vector<transform::Color> colors;  // the fills' pixels
  transform::ValueTable table;
  int channels = transform::kColors;  // 3 or 1
  bool channels_last = false;
  transform::Extent extent;  // of the output
};

// The images that a program's first op gets.
struct ProgramInput {
  int first_index = 0;  // that op's, among all of the pipeline
  int decode_ops = 0;   // ops before it that say how images are decoded
  int channels = transform::kColors;
  std::optional<transform::Extent> extent;  // if all images have one
};

// INVALID_ARGUMENT, naming the op by its position (from 1) and name.
absl::StatusOr<Program> MakeProgram(const proto::PipelineSpec& spec,
                                    const ProgramInput& input = {});

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PROGRAM_H_
