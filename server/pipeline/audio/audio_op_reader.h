#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_AUDIO_OP_READER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_AUDIO_OP_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// The arrays that an op takes.
struct Input {
  // Lengths of the axes behind the first one.
  std::vector<std::uint64_t> frame_shape;
  // Sample rate of the first sample's array, in Hz; 0 if the rate is not known.
  std::uint32_t rate = 0;
};

// Makes an op of audio that CheckFields (op_traits.h) has found good.
// INVALID_ARGUMENT: parameters contradict each other, or the op does not take
// arrays like `input`. The message does not name the op. Thread-safe; never
// blocks.
absl::StatusOr<std::unique_ptr<const Op>> ReadOp(const proto::Op& op,
                                                 const Input& input);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_AUDIO_OP_READER_H_
