#ifndef FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_
#define FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/job.pb.h"

namespace forebay::ctl {

// Maps a pipeline's output values back to 0 to 255, by a scale and an offset
// for each channel: the inverse of its Normalize and ToDtype. Thread-safe;
// nothing blocks or fails.
class Denormalize {
 public:
  Denormalize(const proto::PipelineSpec& pipeline, std::size_t channels);

  // Rounds, and clamps to 0 to 255; NaN becomes 0.
  std::uint8_t Apply(double value, std::size_t channel) const;

 private:
  struct Line {
    double scale = 1;
    double offset = 0;
  };
  std::vector<Line> lines_;
};

// Returns the value at `data`, which need not be aligned.
double LoadValue(const char* data, proto::DataType dtype);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_
