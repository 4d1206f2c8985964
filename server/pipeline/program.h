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

// The color that an op paints where it shows no pixel of the image.
struct Fill {
  // Color as a uint8 for each channel; used if `late` is false.
  std::array<std::uint8_t, transform::kColors> pixel{};
  // Whether the op comes behind the conversion to floating point. The fill is
  // then a value of the output's type, not a uint8.
  bool late = false;
  // Bits of the fill in the output's type for each channel; used if `late`.
  std::array<std::uint32_t, transform::kColors> element{};
};

// An op on pixels, and its random stream.
struct ProgramOp {
  transform::PixelOp op;
  // Number of the op's random stream: the op's place in the spec, without
  // counting ops that say how images are decoded.
  std::uint16_t index = 0;
};

// A checked PipelineSpec, and everything computed from it that is the same for
// all samples.
struct Program {
  // Whether images may be decoded at a smaller scale.
  bool scaled = false;
  // Whether images are turned upright by EXIF's orientation.
  bool upright = false;
  // Ops on pixels, in order.
  std::vector<ProgramOp> ops;
  // Fill of each op, by position in `ops`.
  std::vector<Fill> fills;
  // The `pixel` of each fill, by position in `ops`.
  std::vector<transform::Color> colors;
  // Output element for each pixel value: conversion and normalising.
  transform::ValueTable table;
  // Channels of the output, 3 or 1.
  int channels = transform::kColors;
  // Whether the output is height, width, channels (NHWC); if not, channels come
  // first.
  bool channels_last = false;
  // Height and width of the output.
  transform::ImageExtent extent;
};

// The images that a program's first op is given.
struct ProgramInput {
  // Number of the program's first op among all ops of the pipeline.
  int first_index = 0;
  // Number of ops before the first op that say how images are decoded.
  int decode_ops = 0;
  int channels = transform::kColors;
  // Size of all images; nullopt if they may differ.
  std::optional<transform::ImageExtent> extent;
};

// Makes a program of a spec. INVALID_ARGUMENT names the op by its position,
// from 1, and its name.
absl::StatusOr<Program> MakeProgram(const proto::PipelineSpec& spec,
                                    const ProgramInput& input = {});

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PROGRAM_H_
