#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_INPUT_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_INPUT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// The arrays that an op takes.
struct Input {
  // Lengths of the axes behind the first one.
  std::vector<std::uint64_t> frame_shape;
  // Sample rate of the first sample's array, in Hz; 0 if the rate is not known.
  std::uint32_t rate = 0;
};

// An op, or the reason why it does not suit its input. The op's numbers are
// within the bounds of audio_ops.proto, which keep tables small and arithmetic
// within range. INVALID_ARGUMENT: parameters contradict each other, or the op
// does not take arrays like the input. The message does not name the op.
using OpOrRefusal = absl::StatusOr<std::unique_ptr<const Op>>;

// Checks that the input of an op that takes clips is (frames) or (frames,
// channels).
inline absl::Status CheckClip(const Input& input) {
  if (input.frame_shape.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes clips of 1 or 2 axes, (frames) or (frames, "
                     "channels), not arrays of ",
                     input.frame_shape.size() + 1));
  }
  if (input.frame_shape.empty() || input.frame_shape.front() > 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError("takes clips with channels, not with none");
}

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_INPUT_H_
