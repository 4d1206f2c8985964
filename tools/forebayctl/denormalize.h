#ifndef FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_
#define FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/job.pb.h"

namespace forebay::ctl {

// Maps a pipeline's output values back to the range 0 to 255, by a scale and an
// offset for each channel: the inverse of its Normalize and ToDtype.
// Thread-safe. The caller owns it. Never blocks. Has no errors.
class Denormalize {
 public:
  // Computes the inverse of `pipeline` for images of `channels` channels.
  Denormalize(const proto::PipelineSpec& pipeline, std::size_t channels);

  // Returns the pixel for an output value of a channel, rounded and clamped to
  // 0 to 255. NaN becomes 0.
  std::uint8_t Apply(double value, std::size_t channel) const;

 private:
  // The function scale * value + offset of one channel.
  struct Line {
    double scale = 1;
    double offset = 0;
  };
  std::vector<Line> lines_;
};

// Returns the value of type `dtype` at `data`, which need not be aligned; 0 for
// a type that images do not have.
double LoadValue(const char* data, proto::DataType dtype);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_DENORMALIZE_H_
