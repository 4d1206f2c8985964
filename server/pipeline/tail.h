#ifndef FOREBAY_SERVER_PIPELINE_TAIL_H_
#define FOREBAY_SERVER_PIPELINE_TAIL_H_

#include <optional>

#include "server/pipeline/program.h"
#include "server/pipeline/transform/value_table.h"

namespace forebay::pipeline {

// The last part of a program: what uint8 pixels become, and their layout.
struct Tail {
  transform::ValueTable table;
  int channels = transform::kColors;  // 3 or 1
  bool channels_last = false;
};

// Takes the tail off a program, which then makes uint8 pixels, channels last.
// Returns nullopt, and leaves the program as it is, if a padding has a color
// that no pixel becomes.
std::optional<Tail> CutTail(Program* program);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_TAIL_H_
