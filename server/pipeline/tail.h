#ifndef FOREBAY_SERVER_PIPELINE_TAIL_H_
#define FOREBAY_SERVER_PIPELINE_TAIL_H_

#include <optional>

#include "server/pipeline/image/program.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline {

// The last part of a program: the elements that uint8 pixels become, and the
// elements' layout. Trainers on GPUs apply the tail themselves.
struct Tail {
  // The element that each uint8 value of each channel becomes.
  transform::ValueTable table;
  // Channels of the image, 3 or 1.
  int channels = transform::kColors;
  // Whether the finished tensor has its channels last.
  bool channels_last = false;
};

// Cuts the tail off a program. The program then makes uint8 pixels with
// channels last. If an op's fill is an element that no uint8 value becomes,
// returns nullopt and leaves the program unchanged. Pure function.
std::optional<Tail> CutTail(image::Program* program);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TAIL_H_
