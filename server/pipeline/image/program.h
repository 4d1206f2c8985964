#ifndef FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_H_
#define FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/pipeline/image/image_op.h"
#include "server/pipeline/transform/image_extent.h"
#include "server/pipeline/transform/planes.h"
#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline::image {

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
  std::unique_ptr<const ImageOp> op;
  // Number of the op's random stream: the op's place in the spec, without
  // counting ops that say how images are decoded.
  std::uint16_t stream = 0;
};

// A checked PipelineSpec, and everything computed from it that is the same for
// all samples.
struct Program {
  // Whether images may be decoded at a smaller scale.
  bool scaled = false;
  // Whether images are turned upright by EXIF's orientation.
  bool upright = false;
  // Number of ops, in the whole pipeline so far, that say how images are
  // decoded.
  int decode_ops = 0;
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

}  // namespace forebay::pipeline::image

#endif  // FOREBAY_SERVER_PIPELINE_IMAGE_PROGRAM_H_
